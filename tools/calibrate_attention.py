"""Attention: the measured tables of one GPU (H100), reduced to what the time depends on.

Decoding. The time depends on the sequences times the key/value heads (one thread block or more each), on the context,
on the query heads that share a key/value head (the group), on the head size and on the format of the cache. Runs
that agree in these (8 sequences with one head, one sequence with 8 heads) differ by 1.5 % in the median; their median
is kept.
Prefill. The same, with sequences times query heads in the place of the rows; the group hardly matters.
Kept are powers of two, and half steps (three halves of one) of the prefill length, and of the rows where every query
head has its own KV head (that kernel works in waves); everything else is left out and is what report() measures the
interpolation on. Runs with a sliding window are not used.
More than 16 query heads on one KV head take tiles of 32; more than 32 fall back to a kernel that works query head by
query head, so twice the group is as good as twice the rows.
"""
import collections
import csv
import functools
import gzip
import math
import statistics

HEAD_SIZES = [64, 128, 192, 256]
DECODE_GROUPS = [1, 2, 8, 16, 32, 64]
PREFILL_GROUPS = [1, 4, 16]
CONTEXTS = [2] + [64 << i for i in range(12)]
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384]
DTYPES = {"bfloat16": "bf16", "fp8": "fp8"}
SOURCE = """\
# Source: github.com/ai-dynamo/aiconfigurator@095f58a51c, aic-core/src/aiconfigurator_core/systems/data/h100_sxm
# (Apache-2.0), TensorRT-LLM 1.3.0rc20 on NVIDIA H100: medians of measured times, thinned, three digits kept.
# The times include rotary embedding and the write to the cache, which the engine fuses into these kernels.
# Written by tools/calibrate, which says how.
"""


def short(value):
    digits = 2 - math.floor(math.log10(value))
    return f"{value:.{max(digits, 0)}f}"


def rows_of(path):
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["window_size"] == "0":
                yield row


@functools.lru_cache(maxsize=None)
def load(data, phase):
    """Microseconds by (formats, head size, group), then by (rows, length): all runs."""
    tables = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows_of(data / f"aic_attention_{phase}_h100.csv.gz"):
        heads, kv_heads = int(row["num_heads"]), int(row["num_key_value_heads"])
        if heads % kv_heads:
            continue
        kv = DTYPES[row["kv_cache_dtype"]]
        formats = (kv,) if phase == "gen" else (DTYPES[row["attn_dtype"]], kv)
        count = int(row["batch_size"]) * (kv_heads if phase == "gen" else heads)
        length = int(row["step"]) + 1 if phase == "gen" else int(row["isl"])
        tables[formats, int(row["head_dim"]), heads // kv_heads][count, length].append(float(row["latency"]) * 1e3)
    return tables


def rows_kept(group, formats):
    halves = [3 << i for i in range(16)] if group == 1 and len(formats) == 1 else []
    return sorted([1 << i for i in range(18)] + halves)


def text_of(tables, title, names, groups, lengths):
    text = f"# {title}\n{SOURCE}{','.join(names)},head_size,group,rows," + ",".join(map(str, lengths)) + "\n"
    for formats, head_size, group in sorted(tables):
        if head_size not in HEAD_SIZES or group not in groups:
            continue
        table = tables[formats, head_size, group]
        for count in rows_kept(group, formats):
            cells = [short(statistics.median(table[count, x])) if (count, x) in table else "" for x in lengths]
            if cells[0]:
                text += f"{','.join(formats)},{head_size},{group},{count}," + ",".join(cells) + "\n"
    return text


def build(data):
    return {
        "attention_decode_h100.csv": text_of(
            load(data, "gen"),
            "Attention of one new token: microseconds; rows = sequences x KV heads, a column for each context.",
            ["kv"], DECODE_GROUPS, CONTEXTS),
        "attention_prefill_h100.csv": text_of(
            load(data, "ctx"),
            "Causal attention of whole prompts: microseconds; rows = sequences x query heads, a column a length.",
            ["compute", "kv"], PREFILL_GROUPS, LENGTHS),
    }


# ---- how well the thinned table stands for the rest: the interpolation of src/operators/attention.h again ----

def parse(text, formats_count):
    lines = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    lengths = [float(x) for x in lines[0][formats_count + 3:]]
    tables = collections.defaultdict(dict)
    for cells in lines[1:]:
        key = (tuple(cells[:formats_count]), int(cells[formats_count]), int(cells[formats_count + 1]))
        for length, cell in zip(lengths, cells[formats_count + 3:]):
            if cell:
                tables[key][int(cells[formats_count + 2]), length] = float(cell)
    return tables, lengths


def blend(axis, x):
    """The two neighbours of x in a sorted axis and the weight of the second, in the measure of the axis."""
    for low, high in zip(axis, axis[1:]):
        if low <= x <= high:
            return low, high
    return None


def estimate(table, rows, lengths, count, length, quadratic):
    """Straight in the rows, and straight in the length (decode) or its square (prefill); None outside the table."""
    between, between_rows = blend(lengths, length), blend(rows, count)
    if between is None or between_rows is None:
        return None
    low, high = between
    low_row, high_row = between_rows
    power = 2 if quadratic else 1
    w_length = (length**power - low**power) / (high**power - low**power)
    w_row = (count - low_row) / (high_row - low_row)
    total = 0
    for r, wr in ((low_row, 1 - w_row), (high_row, w_row)):
        for x, wx in ((low, 1 - w_length), (high, w_length)):
            if wr * wx == 0:
                continue
            if (r, x) not in table:
                return None
            total += wr * wx * table[r, x]
    return total


def weights(groups, group, inverse):
    """Groups to mix and their weights; prefill mixes in 1 / group, which the traffic of keys and values goes with."""
    measure = (lambda g: 1 / g) if inverse else (lambda g: g)
    if not inverse and group > 16:
        return [(32 if group <= 32 else 64, 1)]
    between = blend(groups, group)
    if between is None:
        return []
    low, high = between
    w = (measure(group) - measure(low)) / (measure(high) - measure(low))
    return [(low, 1 - w), (high, w)]


def errors(tables, text, formats_count, lengths, quadratic):
    kept, axis = parse(text, formats_count)
    groups = collections.defaultdict(set)
    for formats, head_size, group in kept:
        groups[formats, head_size].add(group)
    for (formats, head_size, group), table in tables.items():
        parts = weights(sorted(groups[formats, head_size]), group, quadratic)
        for (count, length), times in table.items():
            exact = (count, length) in kept.get((formats, head_size, group), {})
            if exact or not parts:
                continue
            total = 0
            for g, w in parts:
                if w:
                    rows = rows_kept(g, formats)
                    at = count * group / g if g == 64 and not quadratic else count
                    value = estimate(kept[formats, head_size, g], rows, axis, at, length, quadratic)
                    total = None if value is None or total is None else total + w * value
            if total is not None:
                yield (formats, head_size), total / statistics.median(times) - 1


def report(data, texts):
    lines = []
    for phase, name, count, lengths, quadratic in (("gen", "attention_decode_h100.csv", 1, CONTEXTS, False),
                                                   ("ctx", "attention_prefill_h100.csv", 2, LENGTHS, True)):
        found = collections.defaultdict(list)
        for key, error in errors(load(data, phase), texts[name], count, lengths, quadratic):
            found["all"].append(error)
            found[key].append(error)
        for key, values in sorted(found.items(), key=str):
            sizes = sorted(abs(v) for v in values)
            lines.append(f"{name[:-4]}, {key}: {len(values)} points left out, mean {statistics.mean(sizes):.1%}, "
                         f"median {statistics.median(sizes):.1%}, P90 {sizes[int(0.9 * len(sizes))]:.1%}, "
                         f"worst {sizes[-1]:.0%}, bias {statistics.mean(values):+.1%}")
    return "\n".join(lines) + "\n"
