#!/usr/bin/env bash
# Requests a second that the daemon's core takes on one thread (promised: 50,000), and its memory a rank; see
# core_load.cc. Expected: the same for one job of many ranks as for many jobs; work grows with messages alone.
# usage: bench/core.sh BINARY      status 1 when the rate is missed
set -euo pipefail

binary=${1:?usage: bench/core.sh BINARY}
build=$(cd "$(dirname "$binary")/.." && pwd)
cmake --build "$build" --target bench_core_load >/dev/null
exec "$build/bin/bench_core_load"
