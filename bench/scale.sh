#!/usr/bin/env bash
# Time and memory of one generated step as the cluster grows by data parallelism, batch and all, from 128 to 8,192 GPUs.
# Expected: no faster than linear. Ranks of one stage share a program, so the graph stays small; what grows is the
# number of operations simulated, which is proportional to the number of ranks.
# usage: bench/scale.sh BINARY      status 1 when time or memory per GPU grows beyond half again of the first row
set -euo pipefail

binary=${1:?usage: bench/scale.sh BINARY}
scenario=$(dirname "${BASH_SOURCE[0]}")/../examples/llama-80b-h200-128.toml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measure GPUS: prints "seconds kilobytes"
measure() {
  local data=$(($1 / 32))
  /usr/bin/time -o "$work/time" -f '%e %M' "$binary" simulate "$scenario" --format json \
    --set "cluster.gpus=$1" --set "parallelism.data=$data" --set "training.global_batch=$((data * 64))" \
    --set 'switching.times=["10 ms"]' --set 'control.policies=["provisioned"]' \
    --set 'electrical.fabrics=["rail_optimised"]' >"$work/report.json"
  cat "$work/time"
}

printf '%8s %10s %12s %16s %16s\n' GPUs seconds MiB 'ms per GPU' 'KiB per GPU'
for gpus in 128 256 512 1024 2048 4096 8192; do
  read -r seconds kilobytes <<<"$(measure "$gpus")"
  echo "$gpus $seconds $kilobytes"
done | awk '
  {
    time = 1000 * $2 / $1; memory = $3 / $1
    if (NR == 1) { first_time = time; first_memory = memory }
    if (time > 1.5 * first_time || memory > 1.5 * first_memory) grows = 1
    printf "%8d %10.2f %12.1f %16.3f %16.1f\n", $1, $2, $3 / 1024, time, memory
  }
  END { print grows ? "grows faster than linearly" : "grows no faster than linearly"; exit grows }'
