#!/usr/bin/env bash
# photonrail estimate: good runs, the bound on simulate, and each bad input.
# usage: estimate.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
base=$root/examples/llama-80b-h200-128.toml

# ---- good runs ------------------------------------------------------------------------------------------------------
accepted estimate "$base" --out "$work/results"
holds "$work/out" 'rail_optimised' 'on_demand' 'calibrated' 'Memory of one GPU' 'optimizer states' 'capacity' \
  'lower bound' 'basis' 'digest'
diff -q "$work/out" "$work/results/report.txt" >/dev/null || bad "report.txt differs from what was printed"
accepted estimate "$work/results/scenario.toml" --format json
diff -q "$work/out" "$work/results/report.json" >/dev/null || bad "the scenario as run gives another report"
accepted explain "$work/results/report.json" mfu
holds "$work/out" 'model_flops / iteration_time / peak'
accepted estimate "$base" --rooflines-only --format csv
holds "$work/out" ',iteration_time,' ',memory_activations,'
! grep -q calibrated "$work/out" || bad "--rooflines-only has a calibrated case"

# step CASE: step time in seconds of the csv in $work/out
step() { awk -F, -v name="$1" '$1 == name && $5 == "iteration_time" { print $6; exit }' "$work/out"; }
set_small=(--set model.layers=8 --set training.microbatches=4)
accepted estimate "$base" "${set_small[@]}" --rooflines-only --format csv
closed=$(step rail_optimised)
accepted simulate "$base" "${set_small[@]}" --set 'control.policies=["oracle"]' --quiet --format csv
simulated=$(step rail_optimised)
awk -v c="$closed" -v s="$simulated" 'BEGIN { exit !(c > 0 && c <= s * 1.000000001 && c > 0.9 * s) }' ||
  bad "closed form $closed, simulated $simulated"

# Overlap makes the calibrated step shorter.
accepted estimate "$base" --format csv
plain=$(step calibrated)
accepted estimate "$base" --overlap-tensor --format csv
awk -v a="$plain" -v b="$(step calibrated)" 'BEGIN { exit !(b > 0 && b < a) }' ||
  bad "--overlap-tensor: not below $plain"

# A job that does not fit says what it is short of.
run estimate "$base" --set parallelism.tensor=1 --set parallelism.data=32 --set training.microbatches=8
((status == 4)) || bad "a step that does not fit: status $status, not 4"
holds "$work/out" 'does not fit' 'short' 'first of'
holds "$work/err" 'does not fit' 'first pipeline stage'

# ---- bad input ------------------------------------------------------------------------------------------------------
refused 3 'no GPU "H2000"' 'H200' -- estimate "$base" --set cluster.gpu=H2000
refused 3 'parallelism.tensor' -- estimate "$base" --set parallelism.tensor=3
refused 3 'unit' -- estimate "$base" --set rail.port_rate=100
refused 4 'no closed form' 'simulate' -- estimate "$root/examples/imported-trace.toml"
refused 5 'nowhere.toml' -- estimate "$work/nowhere.toml"
refused 2 'SCENARIO' -- estimate
finish
