#!/usr/bin/env python3
"""AIConfigurator's fast path on the list of bench/evaluations.cc, on one thread: decode steps and whole requests a second.

usage: evaluations_peer.py LIST.csv [SECONDS]     for at most SECONDS each (default 10); prints two lines "name rate"

A whole request is run_static: prefill and the decode integral, sampled every 32 tokens (its default). Every evaluation
is another line of the list. Compiling its engines is not counted.
"""
import csv
import gc
import logging
import sys
import time

logging.disable(logging.CRITICAL)
from aiconfigurator_core.sdk.engine import EngineHandle  # noqa: E402  (quiet first)

MODELS = {"llama-3-8b": "meta-llama/Meta-Llama-3.1-8B", "llama-3-70b": "meta-llama/Meta-Llama-3.1-70B"}
SYSTEMS = {"H100": "h100_sxm", "H200": "h200_sxm", "B200": "b200_sxm"}
CHUNK = 256  # evaluations between two looks at the clock


def engine(model, gpu, dtype, tensor):
    quant = {"fp8": "fp8", "bf16": "bfloat16"}[dtype]
    return EngineHandle.compile(MODELS[model], SYSTEMS[gpu], "trtllm", tp_size=int(tensor), gemm_quant_mode=quant,
                                kvcache_quant_mode=quant)


def rate(evaluate, points, seconds):
    gc.collect()
    gc.disable()
    done, start = 0, time.perf_counter()
    while done < len(points) and time.perf_counter() - start < seconds:
        for handle, batch, tokens_in, tokens_out in points[done:done + CHUNK]:
            evaluate(handle, batch, tokens_in, tokens_out)
        done = min(done + CHUNK, len(points))
    elapsed = time.perf_counter() - start
    gc.enable()
    return done / elapsed


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    handles, points = {}, []
    with open(sys.argv[1], encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["model"], row["gpu"], row["dtype"], row["tensor"])
            if key not in handles:
                handles[key] = engine(*key)
            points.append((handles[key], int(row["batch"]), int(row["input"]), int(row["output"])))
    print("decode", rate(lambda e, b, i, o: e.decode_step_latency(b, i, 2), points, seconds))
    print("request", rate(lambda e, b, i, o: e.run_static(batch_size=b, isl=i, osl=o), points, seconds))


main()
