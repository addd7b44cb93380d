#!/usr/bin/env bash
# `photonrail energy`: the closed form of the paper's constants, a step in numbers, a generated step, each bad input.
# usage: energy.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
llama=$root/examples/energy-llama-80b.toml gpt3=$root/examples/energy-gpt3-h100-512.toml

accepted energy "$gpt3" --out "$work/gpt3" --threads 2
# 2 x 65 + 35 k against 2 x 5 + 25 k; with an engine of 25 pJ in each photonic endpoint; C9: 1.3 kW by bits.
holds "$work/out" "165        35  78.8 %" "305       135  55.7 %" "93.9 %" \
  "165        85  48.5 %" "305       185  39.3 %" \
  "see 1.334 kW in the switches" "as_published" "none was fitted to a measured power" "Order under sampling"
diff -q "$work/out" "$work/gpt3/report.txt" >/dev/null || bad "report.txt differs from what was printed"
for file in report.txt report.json report.csv scenario.toml; do
  [[ -s $work/gpt3/$file ]] || bad "$file is missing or empty"
done
holds "$work/gpt3/report.csv" "switches=1,1 switches,grid,,grid_saving,0.787878" "rank/group/network" \
  "tornado/components.cpu" '"part/GPU, idle",'

# The scenario as run gives the same numbers, on any number of threads; another seed gives others.
digest() { sed -n 's/^  "digest": "\([0-9a-f]*\)",$/\1/p' "$1"; }
accepted energy "$work/gpt3/scenario.toml" --format json --threads 1
[[ $(digest "$work/out") == "$(digest "$work/gpt3/report.json")" ]] || bad "the scenario as run gives another report"
accepted energy "$gpt3" --format json --set sampling.seed=2
[[ $(digest "$work/out") != "$(digest "$work/gpt3/report.json")" ]] || bad "the seed changes nothing"

accepted energy "$llama"
holds "$work/out" "closed form on rail_optimised" "tensor all_gather" "data all_reduce" "pipeline messages" "63.8 %"
accepted energy "$llama" --set scenario.training.sharding=zero3 --set "step_time=8 s"
holds "$work/out" "8.000 s (given)" "data reduce_scatter"
accepted explain "$work/gpt3/report.json" saving
holds "$work/out" "1 - traffic_energy / baseline.traffic_energy"

printf 'name = "none"\n' >"$work/none.toml"
refused 3 "no work is given" -- energy "$work/none.toml"
refused 3 "exclude each other" -- energy "$llama" --set work.gpus=8
refused 3 "needs step_time" -- energy "$gpt3" --set "step_time=0 s"
refused 4 "times the network's" "paths.rate" -- energy "$gpt3" --set "step_time=100 ms"
refused 4 "operations take" "step_time" -- energy "$gpt3" --set work.teraflop=1e6
refused 4 "bytes of memory take" "H100" -- energy "$gpt3" --set "work.memory=40 TB"
refused 4 "bytes inside scale-up domains take" -- energy "$gpt3" --set "work.scale_up=6 TB"
refused 3 "energy" "65 W" -- energy "$gpt3" --set "published.adapter=65 W"
refused 3 "adaptor" -- energy "$gpt3" --set "published.adaptor=65 pJ"
refused 3 "training.sequence" -- energy "$llama" --set scenario.training.sequence=0
refused 2 "names no training scenario" -- energy "$gpt3" --set scenario.training.sequence=8192
refused 3 "H1O0" -- energy "$gpt3" --set work.gpu=H1O0
# The conclusion comes before what it rests on.
accepted energy "$gpt3" --quiet
first=$(grep -n -m1 "of the whole step's energy" "$work/out" | cut -d: -f1)
((first < 40 && first < $(grep -n -m1 "Tornado" "$work/out" | cut -d: -f1))) || bad "the conclusion is not first"
refused 5 "missing.toml" -- energy "$work/missing.toml"
finish
