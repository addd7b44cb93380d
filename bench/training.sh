#!/usr/bin/env bash
# Training-step evaluations a second on one core (promised: 200,000), each another configuration; see training.cc.
# usage: bench/training.sh BINARY      status 1 when the rate is missed
set -euo pipefail

binary=${1:?usage: bench/training.sh BINARY}
build=$(cd "$(dirname "$binary")/.." && pwd)
cmake --build "$build" --target bench_training >/dev/null
exec "$build/bin/bench_training"
