#!/usr/bin/env bash
# Inference evaluations a second on one core: decode steps (promised: 1,000,000) and whole requests (200,000).
# usage: bench/evaluations.sh BINARY      status 1 when a rate is missed
set -euo pipefail

binary=${1:?usage: bench/evaluations.sh BINARY}
build=$(cd "$(dirname "$binary")/.." && pwd)
cmake --build "$build" --target bench_evaluations >/dev/null
"$build/bin/bench_evaluations"
