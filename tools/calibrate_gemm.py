"""Matrix products: a thinned grid of the measured tables, the time of quantising activations, memory-bound kernels.

The tables give times over m (74 values), n and k (22 each). Kept are the points of the grid below. What the tables call
fp8 is two steps: kernels that scale activations to fp8 (dynamic scale), then the product. The time that fp8 takes
beyond bf16 of half the depth (the same bytes at twice the rate) hardly depends on n, from 128 to 16384; so it is the
quantisation, and its median over small n is kept as a curve of its own over m * k.
"""
import bisect
import collections
import csv
import functools
import gzip
import math
import statistics

GPUS = ["h100", "h200", "b200", "gb200"]
DTYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
# Pairs such as 128, 129 are kept because a kernel that starts one more tile may take twice as long.
M = [1, 2, 4, 8, 16, 17, 32, 33, 64, 65, 96, 128, 129, 192, 256, 257, 512, 513, 768, 1024, 1025, 1536, 2048, 2049, 3072,
     4096, 4097, 8192, 16384, 32768]
NK = [32, 128, 256, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 16384, 51200, 65536]
SOURCE = """\
# Source: github.com/ai-dynamo/aiconfigurator@095f58a51c, aic-core/src/aiconfigurator_core/systems/data/{gpu}_sxm
# (Apache-2.0), TensorRT-LLM 1.3.0rc20 on NVIDIA {title}: measured times, thinned, three digits kept.
# Written by tools/calibrate, which says how.
"""


@functools.lru_cache(maxsize=None)
def load(data, gpu):
    tables = collections.defaultdict(dict)
    with gzip.open(data / f"aic_gemm_{gpu}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            shape = (int(row["m"]), int(row["n"]), int(row["k"]))
            tables[DTYPES[row["gemm_dtype"]]][shape] = float(row["latency"]) * 1e3
    return tables


def short(value):
    digits = 2 - math.floor(math.log10(value))
    return f"{value:.{max(digits, 0)}f}"


def gemm_text(tables, gpu):
    text = "# Matrix products C[m, n] = A[m, k] B[k, n]: microseconds, a column for each m.\n"
    text += SOURCE.format(gpu=gpu, title=gpu.upper())
    text += "dtype,n,k," + ",".join(str(m) for m in M) + "\n"
    for dtype in DTYPES.values():
        table = tables.get(dtype, {})
        for n in NK:
            for k in NK:
                cells = [short(table[m, n, k]) if (m, n, k) in table else "" for m in M]
                if any(cells):
                    text += f"{dtype},{n},{k}," + ",".join(cells) + "\n"
    return text


def quantise_points(tables):
    """Median time over bf16 of half the depth, for each m * k."""
    points = collections.defaultdict(list)
    for (m, n, k), time in tables["fp8"].items():
        half = tables["bf16"].get((m, n, k // 2))
        if n in (128, 256, 512) and half and (m & (m - 1)) == 0 and (k & (k - 1)) == 0:
            points[m * k].append(time - half)
    return {size: statistics.median(points[size]) for size in sorted(points) if size >= 512}


def quantise_text(data):
    text = """\
# Scaling of activations to fp8 with a scale found at run time: microseconds by elements (rows times width).
# Difference of the measured fp8 and bf16 products, see tools/calibrate_gemm.py.
"""
    text += SOURCE.format(gpu="*", title=", ".join(g.upper() for g in GPUS))
    curves = {gpu: quantise_points(load(data, gpu)) for gpu in GPUS}
    text += "elements," + ",".join(GPUS) + "\n"
    for size in curves[GPUS[0]]:
        text += f"{size}," + ",".join(short(curves[gpu][size]) for gpu in GPUS) + "\n"
    return text


# Peaks as in catalog/gpus.toml: TFLOP/s in bf16, fp8 and fp4, memory TB/s. A test compares them with the catalog.
PEAKS = {"h100": (989, 1979, 0, 3.35), "h200": (989, 1979, 0, 4.8), "b200": (2250, 4500, 9000, 8),
         "gb200": (2500, 5000, 10000, 8), "a100": (312, 0, 0, 2)}
BYTES = {"bf16": 2, "fp8": 1, "fp8_block": 1 + 4 / 128**2, "nvfp4": 0.5625}


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def best_shares(data):
    """Best share of the bf16 and fp8 peaks that any product reached, by GPU."""
    best = collections.defaultdict(dict)
    for row in rows_of(data / "mamf_max_achievable_matmul.csv"):
        name = row["accelerator"].split()
        gpu = name[1].lower() if name[0] == "NVIDIA" and name[-1] == "SXM" else ""
        if gpu in PEAKS:
            dtype = "bf16" if float(row["theory_tflops"]) == PEAKS[gpu][0] else "fp8"
            best[gpu][dtype] = float(row["efficiency"].rstrip("%")) / 100
    best["h200"]["bf16"] = best["h100"]["bf16"]  # the same chip
    best["a100"]["fp8"] = 0
    return best


def gpus_text(data):
    """Peaks, the best measured shares of the bf16 and fp8 peaks, and what memory-bound kernels reach."""
    best = best_shares(data)
    copy = {row["gpu"].lower(): float(row["value"]) for row in rows_of(data / "azure_memory_p2p_attention.csv")
            if row["test"] == "HBM Copy"}
    share = {gpu: copy[gpu] / PEAKS[gpu][3] for gpu in copy}
    # Measured inside a graph, so with the gap before the next kernel, which times of single kernels leave out.
    launch = {gpu: statistics.median(load(data, gpu)["bf16"][m, 32, 32] for m in M if m <= 16) for gpu in GPUS}
    text = """\
# Peak rates (of catalog/gpus.toml) that the residuals refer to, in TFLOP/s and TB/s; the best shares of the bf16 and fp8
# peaks that any product reached (github.com/stas00/ml-engineering@744d01e18b, facts only; H200 in bf16 as H100); the
# share of the memory rate that a copy reaches (github.com/Azure/AI-benchmarking-guide@8fd0c6e1bd, MIT; B200 and GB200,
# not measured there, as H200); the least time of a kernel inside a graph, in microseconds (products of 32 x 32 in the
# tables; A100, without such a table, as H100). Written by tools/calibrate, which says how.
gpu,bf16,fp8,fp4,memory,best_bf16,best_fp8,streaming,launch_us
"""
    for gpu, peaks in PEAKS.items():
        text += f"{gpu}," + ",".join(f"{x:g}" for x in peaks) + f",{best[gpu]['bf16']:.3f},{best[gpu]['fp8']:.3f}"
        text += f",{share.get(gpu, share['h200']):.3f},{launch.get(gpu, launch['h100']):.2f}\n"
    return text


def roofline(gpu, dtype, m, n, k):
    bf16, fp8, fp4, memory = PEAKS[gpu]
    peak = {"bf16": bf16, "fp8": fp8, "fp8_block": fp8, "nvfp4": fp4}[dtype]
    size = BYTES[dtype]
    return max(2 * m * n * k / peak * 1e-6, ((m * k + n * k) * size + 2 * m * n) / memory * 1e-6)


class Grid:
    """The measured points of the grid for one format, interpolated as the program does (gemm_residual.h)."""

    def __init__(self, gpu, dtype, table):
        self.gpu, self.dtype, self.table = gpu, dtype, table
        self.sizes = [x for x in NK if (1, x, x) in table]
        self.floor = 0.9 * min(table[1, n, k] for n in self.sizes for k in self.sizes)

    def log_residual(self, m, n, k):
        while (m, n, k) not in self.table:
            m = M[M.index(m) - 1]
        line = roofline(self.gpu, self.dtype, m, n, k)
        return math.log(max(self.table[m, n, k] - self.floor, line) / line)

    @staticmethod
    def corners(axis, x):
        at = min(max(bisect.bisect_right(axis, x) - 1, 0), len(axis) - 2)
        share = min(max(math.log(x / axis[at]) / math.log(axis[at + 1] / axis[at]), 0), 1)
        return [corner for corner in ((axis[at], 1 - share), (axis[at + 1], share)) if corner[1] > 0]

    def residual(self, m, n, k):
        total = 0
        for mm, wm in self.corners(M, m):
            for nn, wn in self.corners(self.sizes, n):
                for kk, wk in self.corners(self.sizes, k):
                    total += wm * wn * wk * self.log_residual(mm, nn, kk)
        return math.exp(total)

    def time(self, m, n, k):
        return self.residual(m, n, k) * roofline(self.gpu, self.dtype, m, n, k) + self.floor


def a100_points(data):
    """(m, n, k, microseconds, laboratory) of A100 in half precision: LLMCompass, Azure, and Llama-2-70B of Vidur.

    LLMCompass reports up to 94 % of the peak, more than a search for the best shape found (gpus.csv); such times are
    taken at that best rate. Azure does not name the format, but 256 TFLOP/s is beyond what any but half precision has.
    """
    best = PEAKS["a100"][0] * best_shares(data)["a100"]["bf16"] * 1e6  # FLOP in a microsecond
    points = []
    for row in rows_of(data / "gemm_a100_mi210_llmcompass.csv"):
        if row["device"] == "A100":
            m, n, k = (int(row[x]) for x in "mnk")
            points.append((m, n, k, max(float(row["latency_ms"]) * 1e3, 2 * m * n * k / best), "llmcompass"))
    for row in rows_of(data / "azure_gemm.csv"):
        if row["gpu"] == "A100":
            m, n, k = (int(row[x]) for x in "mnk")
            points.append((m, n, k, 2 * m * n * k / float(row["tflops"]) * 1e-6, "azure"))
    for row in rows_of(data / "vidur_llama2_70b_layer_ops_ms.csv"):
        if row["gpu"] == "a100":
            m, tp = int(row["num_tokens"]), int(row["tp"])
            for name, n, k in layer_products(tp):
                points.append((m, n, k, float(row[name]) * 1e3, "vidur"))
    return points


def layer_products(tp):
    """Llama-2-70B: 64 query and 8 key/value heads of 128, hidden size 8192, feed-forward size 28672."""
    return [("attn_pre_proj_ms", 10240 // tp, 8192), ("attn_post_proj_ms", 8192, 8192 // tp),
            ("mlp_up_proj_ms", 57344 // tp, 8192), ("mlp_down_proj_ms", 8192, 28672 // tp)]


def a100_factor(grid, point):
    m, n, k, time, _ = point
    return (time - grid.floor) / (grid.residual(m, n, k) * roofline("a100", "bf16", m, n, k))


# Below this the factor is a function of the rows alone, where whole tiles decide; from here on of the work m n k. On
# products of a laboratory or of an m that is left out this errs less than rows throughout (docs/models/kernels.md).
WORK_FROM = 512


class A100Factor:
    """Residual of A100 over that of H100, ln f, from (m, n, k, f): medians by rows, a Theil-Sen line by work."""

    def __init__(self, factors):
        rows = collections.defaultdict(list)
        line = []
        for m, n, k, factor in factors:
            if m < WORK_FROM:
                rows[m].append(factor)
            else:
                line.append((math.log(m * n * k), math.log(factor)))
        self.rows = {m: (statistics.median(rows[m]), len(rows[m])) for m in sorted(rows)}
        self.work = sorted({math.exp(x) for x, _ in line})
        self.points = len(line)
        self.slope = statistics.median((y1 - y0) / (x1 - x0) for i, (x1, y1) in enumerate(line)
                                       for x0, y0 in line[:i] if x0 != x1)
        self.start = statistics.median(y - self.slope * x for x, y in line)

    def by_work(self, work):
        return math.exp(self.start + self.slope * math.log(min(max(work, self.work[0]), self.work[-1])))

    def by_rows(self, m):
        axis = list(self.rows)
        at = min(max(bisect.bisect_right(axis, m) - 1, 0), len(axis) - 2)
        share = min(max(math.log(m / axis[at]) / math.log(axis[at + 1] / axis[at]), 0), 1)
        low, high = math.log(self.rows[axis[at]][0]), math.log(self.rows[axis[at + 1]][0])
        return math.exp(low + share * (high - low))

    def at(self, m, n, k):
        return self.by_rows(m) if m < WORK_FROM else self.by_work(m * n * k)


def a100_factors(grid, points):
    return [(*p[:3], a100_factor(grid, p)) for p in points if min(p[1], p[2]) >= 1024]


def a100_text(data):
    grid = Grid("h100", "bf16", load(data, "h100")["bf16"])
    fit = A100Factor(a100_factors(grid, a100_points(data)))
    text = f"""\
# A100 in half precision: residual over that of H100 at the same shape. By m below {WORK_FROM}, medians over the measured
# shapes; from there by the work m n k, a Theil-Sen line of the logarithms, given at the ends of the measured range.
# Sources: github.com/PrincetonUniversity/LLMCompass@2e015fd2ee (BSD-3-Clause), github.com/microsoft/vidur@7d47513363 (MIT)
# and github.com/Azure/AI-benchmarking-guide@8fd0c6e1bd (MIT): measured times. Written by tools/calibrate, which says how.
by,value,factor,points
"""
    for m, (factor, shapes) in fit.rows.items():
        text += f"rows,{m},{factor:.3f},{shapes}\n"
    for work in (fit.work[0], fit.work[-1]):
        text += f"work,{work:.4g},{fit.by_work(work):.3f},{fit.points}\n"
    return text


def left_out(grid):
    """Measured shapes inside the range of the grid that it does not hold."""
    return [(m, n, k) for m, n, k in sorted(grid.table)
            if min(n, k) >= grid.sizes[0] and not (m in M and n in NK and k in NK)]


def heldout_text(data):
    """A hundred of them for each GPU and format, evenly spaced."""
    # No comments, so that `photonrail validate --data calibration/heldout` reads it; the README there has the source.
    text = "gpu,dtype,m,n,k,latency_us,source\n"
    for gpu in GPUS:
        for dtype, table in sorted(load(data, gpu).items()):
            shapes = left_out(Grid(gpu, dtype, table))
            for i in range(100):
                m, n, k = shapes[(2 * i + 1) * len(shapes) // 200]
                text += f"{gpu},{dtype},{m},{n},{k},{table[m, n, k]:.2f},aiconfigurator@095f58a51c\n"
    return text


def build(data):
    texts = {f"gemm_{gpu}.csv": gemm_text(load(data, gpu), gpu) for gpu in GPUS}
    texts["gemm_a100.csv"] = a100_text(data)
    texts["quantise.csv"] = quantise_text(data)
    texts["gpus.csv"] = gpus_text(data)
    texts["heldout/gemm_h100_h200_b200_gb200.csv"] = heldout_text(data)
    return texts


def summary(errors):
    size = sorted(abs(x) for x in errors)
    if not size:
        return "none"
    return (f"{len(size)} points: mean {100 * statistics.mean(size):.1f} %, "
            f"median {100 * statistics.median(size):.1f} %, P90 {100 * size[9 * len(size) // 10]:.1f} %, worst {100 * size[-1]:.0f} %, "
            f"bias {100 * statistics.mean(errors):+.1f} %")


def report(data, texts):
    """Errors on measured points that are not in calibration/, of the program's interpolation."""
    text = ""
    for gpu in GPUS:
        for dtype, table in load(data, gpu).items():
            grid = Grid(gpu, dtype, table)
            rows, shapes = [], []
            for m, n, k in left_out(grid):
                error = grid.time(m, n, k) / table[m, n, k] - 1
                (rows if n in NK and k in NK else shapes).append(error)
            text += f"{gpu} {dtype}: other m, {summary(rows)}\n"
            text += f"{gpu} {dtype}: other n or k, {summary(shapes)}\n"
    return text + a100_report(data)


def a100_report(data):
    """Errors on A100 of what is left out: a shape, an m of the line, a laboratory's part of the line."""
    grid = Grid("h100", "bf16", load(data, "h100")["bf16"])
    points = [p for p in a100_points(data) if min(p[1], p[2]) >= 1024]

    def errors(key, kept=lambda p: True):
        found = []
        for group in sorted({key(p) for p in points}):
            fit = A100Factor(a100_factors(grid, [p for p in points if key(p) != group]))
            for p in points:
                if key(p) == group and kept(p):
                    line = grid.residual(*p[:3]) * roofline("a100", "bf16", *p[:3])
                    found.append((line * fit.at(*p[:3]) + grid.floor) / p[3] - 1)
        return summary(found)

    large = lambda p: p[0] >= WORK_FROM
    return (f"a100 bf16: each shape from the others, {errors(lambda p: p[1:3])}\n"
            f"a100 bf16: each m from {WORK_FROM} from the others, {errors(lambda p: p[0], large)}\n"
            f"a100 bf16: m from {WORK_FROM}, each laboratory from the others, {errors(lambda p: p[4], large)}\n")
