"""Collectives: measured times by ranks and bytes inside a scale-up domain, and what networks add.

Bytes are the whole vector: of all-gather the result, of reduce-scatter and all-to-all the input of one rank (with any
other reading the rates would exceed the links). Kept are powers of two from 256 B. A longer message is never quicker
than a shorter one, so upward spikes of the measurement are cut to the time of the next longer message.
A100: all-reduce from three sources, the quickest for each size (they differ by NCCL version); sends resampled.
"""
import collections
import csv
import math

EXPONENTS = range(8, 35)
RATES = {"a100": 300, "h100": 450, "h200": 450, "b200": 900, "gb200": 900}  # GB/s per GPU and direction
KINDS = {"alltoall": "all_to_all"}
SOURCE = """\
# Times of collectives inside a scale-up domain: microseconds, a column for each message in bytes (the whole vector);
# rate: GB/s per GPU and direction of that GPU.
# Sources: github.com/ai-dynamo/aiconfigurator@095f58a51c (Apache-2.0; NCCL 2.29.2, TensorRT-LLM 1.3.0rc20);
# A100: github.com/VIA-Research/vTrain@f8dda8473a, github.com/PrincetonUniversity/LLMCompass@2e015fd2ee,
# github.com/Azure/AI-benchmarking-guide@8fd0c6e1bd (MIT); sends: github.com/microsoft/vidur@7d47513363 (MIT).
# Written by tools/calibrate, which says how.
"""
NETWORK = """\
# What networks add to collectives. Written by tools/calibrate, which says how.
#   ring_share: share of the NIC rate that large all-reduces reach as one ring of all ranks, on 4 nodes of 8 B200
#     (8 x 50 GB/s; github.com/stas00/ml-engineering@744d01e18b, facts only).
#   step_us: latency of one network hop, from the all-reduce of 32 KiB on 4 nodes (ibid.; 8 GPUs a node taken) less that
#     of one node, over the 4 hops of a tree and back.
#   send_us, send_share: from sends between two H100 nodes (github.com/microsoft/vidur@7d47513363, MIT; 50 GB/s taken).
#   all_to_all_share_N: share of the NIC rate that dispatch and combine of N ranks reach, H800 with 50 GB/s
#     (github.com/deepseek-ai/DeepEP@458cdcb, MIT).
#   pcie_share: share of the PCIe rate that copies reach (32 GB/s on A100, 64 GB/s on H100, H200; Azure as above).
#   mi300x_share: share of 7 x 64 GB/s that the all-reduce of 8 MI300X reaches (ml-engineering as above).
"""


def read(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def short(value):
    digits = 2 - math.floor(math.log10(value))
    return f"{value:.{max(digits, 0)}f}"


def power_of_label(label):
    """Azure writes 65536 bytes as 65K, 132K for 131072, 33M for 33554432: the nearest power of two."""
    number, unit = float(label[:-1]), {"K": 1e3, "M": 1e6, "G": 1e9}[label[-1]]
    return 1 << round(math.log2(number * unit))


def curves(data):
    """Microseconds by (gpu, library, kind, ranks), then by bytes; the quickest of several."""
    times = collections.defaultdict(dict)

    def add(key, size, microseconds):
        times[key][size] = min(microseconds, times[key].get(size, math.inf))

    for row in read(data / "nccl_collectives_nvlink_h100_h200_b200_gb200.csv"):
        if row["dtype"] == "half":
            kind = KINDS.get(row["collective"], row["collective"])
            add((row["gpu"], "nccl", kind, int(row["num_gpus"])), int(row["message_bytes"]), float(row["latency_us"]))
    for row in read(data / "trtllm_custom_allreduce_small_msgs.csv"):
        add((row["gpu"], "custom", "all_reduce", int(row["num_gpus"])), int(row["message_bytes_assuming_2B"]),
            float(row["latency_us"]))
    for row in read(data / "nccl_allreduce_a100_vtrain.csv"):
        if row["num_gpus"] in ("2", "4", "8"):
            add(("a100", "nccl", "all_reduce", int(row["num_gpus"])), int(row["bytes"]), float(row["oop_time_us"]))
    for row in read(data / "nccl_allreduce_a100_4gpu_llmcompass.csv"):
        add(("a100", "nccl", "all_reduce", 4), int(row["size_bytes_as_listed"]), float(row["latency_us"]))
    for row in read(data / "azure_nccl_allreduce_8gpu.csv"):
        if row["gpu"] == "A100":
            size = power_of_label(row["message_size_label_bytes"])
            add(("a100", "nccl", "all_reduce", 8), size, size * 2 * 7 / 8 / float(row["busbw_GBps"]) / 1e3)
    for row in read(data / "vidur_network_a100_h100.csv"):
        inside = row["num_workers"] == row["devices_per_node"] == "2"
        size = int(row["size_bytes_as_listed"])
        gpu = row["cluster"].split("_")[0]
        if row["op"] == "send_recv" and inside:
            add((gpu, "nccl", "send", 2), size, float(row["median_ms"]) * 1e3)
        if gpu == "a100" and row["op"] == "all_reduce" and inside and size == 2048:
            add((gpu, "nccl", "all_reduce", 2), size, float(row["median_ms"]) * 1e3)
    return times


def envelope(points):
    """Sizes and times, ascending in both."""
    result = []
    least = math.inf
    for size in sorted(points, reverse=True):
        least = min(least, points[size])
        result.append((size, least))
    return result[::-1]


def at(points, size):
    """Straight between measured points; None outside them."""
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= size <= x1:
            return y0 + (y1 - y0) * (size - x0) / (x1 - x0)
    return None


def collectives_text(data):
    text = SOURCE + "gpu,library,kind,ranks,rate," + ",".join(str(1 << e) for e in EXPONENTS) + "\n"
    for (gpu, library, kind, ranks), points in sorted(curves(data).items()):
        cells = [at(envelope(points), 1 << e) for e in EXPONENTS]
        text += f"{gpu},{library},{kind},{ranks},{RATES[gpu]}," + ",".join(short(c) if c else "" for c in cells) + "\n"
    return text


def network_text(data):
    rows = read(data / "collectives_multinode_mlengineering.csv")
    nodes = [r for r in rows if r["setup"].startswith("B200 P6")]
    values = {"ring_share": max(float(r["busbw_GBps"]) for r in nodes) / 400}
    sample = next(r for r in rows if r["setup"].startswith("4 nodes sample") and r["payload"] == "32KiB")
    lone = dict(envelope(curves(data)["h100", "nccl", "all_reduce", 8]))[32768]
    values["step_us"] = (32768 * 2 * 31 / 32 / float(sample["busbw_GBps"]) / 1e3 - lone) / 4
    sends = envelope({int(r["size_bytes_as_listed"]): float(r["median_ms"]) * 1e3
                      for r in read(data / "vidur_network_a100_h100.csv")
                      if r["cluster"] == "h100_dgx" and r["op"] == "send_recv" and r["devices_per_node"] == "1"})
    values["send_us"] = sends[0][1]
    values["send_share"] = sends[-1][0] / (sends[-1][1] - sends[0][1]) / 1e3 / 50
    shares = collections.defaultdict(list)
    for row in read(data / "deepep_moe_alltoall.csv"):
        if row["kernel"] == "low-latency":
            shares[int(row["ep_ranks"])].append(float(row["bottleneck_bw_GBps"]) / 50)
    for ranks, found in sorted(shares.items()):
        values[f"all_to_all_share_{ranks}"] = sum(found) / len(found)
    copies = [(r["gpu"], float(r["value"])) for r in read(data / "azure_memory_p2p_attention.csv")
              if r["test"] == "Host to Device"]
    copies = [rate / (32 if gpu == "A100" else 64) for gpu, rate in copies]
    values["pcie_share"] = sum(copies) / len(copies)
    eight = next(r for r in rows if r["setup"].startswith("8x MI300X"))
    values["mi300x_share"] = float(eight["busbw_GBps"]) / 448
    return NETWORK + "name,value\n" + "".join(f"{name},{value:.4g}\n" for name, value in values.items())


def build(data):
    return {"collectives.csv": collectives_text(data), "collective_network.csv": network_text(data)}


def report(data, texts):
    """NCCL inside one node against other measurements of the same GPUs (Azure), which are not in the table."""
    kept = curves(data)
    lines = []
    for gpu in ("H100", "H200"):
        found = []
        for row in read(data / "azure_nccl_allreduce_8gpu.csv"):
            size = power_of_label(row["message_size_label_bytes"])
            ours = at(envelope(kept[gpu.lower(), "nccl", "all_reduce", 8]), size)
            if row["gpu"] == gpu and ours and size >= 1 << 20:
                found.append(ours / (size * 1.75 / float(row["busbw_GBps"]) / 1e3) - 1)
        lines.append(f"collectives, all-reduce of 8 {gpu} against Azure, 1 MiB and more: {len(found)} points, mean "
                     f"error {sum(map(abs, found)) / len(found):.1%}, bias {sum(found) / len(found):+.1%}")
    return "\n".join(lines) + "\n"
