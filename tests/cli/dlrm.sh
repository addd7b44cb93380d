#!/usr/bin/env bash
# The command dlrm: good runs in every format, the map, and each kind of bad input.
# usage: dlrm.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
training=$root/examples/dlrm-dcnv2-h100x8.toml
pooling=$root/examples/dlrm-pool.toml

accepted dlrm "$training" --out "$work/results"
holds "$work/out" "Pooling" "Samples a second" "Bound by" "read rows" "update rows" "Assumptions" "as_published  none" \
  "nvlink" "pcie" "pool" "tables of h100" "digest"
diff -q "$work/out" "$work/results/report.txt" >/dev/null || bad "report.txt differs from what was printed"
for file in report.txt report.json report.csv scenario.toml; do
  [[ -s $work/results/$file ]] || bad "$file is missing or empty"
done
accepted dlrm "$work/results/scenario.toml" --format csv
diff -q "$work/out" "$work/results/report.csv" >/dev/null || bad "the scenario as run gives another report"
holds "$work/out" "nvlink,nvlink,electrical,,step_time," "pool,pool,photonic,,pooling_gain,"
accepted explain "$work/results/report.json" pooling_gain
holds "$work/out" "baseline.pooling_time / pooling_time"

# Phases, sharding and stores.
for spread in table row column hybrid automatic; do
  accepted dlrm "$training" --set "sharding.spread=\"$spread\"" --set 'embedding.weights="fp16"' --format json
  holds "$work/out" '"step_time"'
done
accepted dlrm "$training" --set 'step.phase="inference"' --set 'step.optimizer="rowwise_adagrad"'
holds "$work/out" "inference of 55296 samples"

# An override is said with the result, and only then.
accepted dlrm "$pooling"
holds "$work/out" "as_published  none" "optical port (7.2 Tb/s)"
accepted dlrm "$pooling" --set 'pool.as_published_rate="26.8 TB/s"'
holds "$work/out" "as_published  pool.as_published_rate = 26.8 TB/s takes the place of"

accepted dlrm "$pooling" --map
holds "$work/out" "at which the gain is 22.8" "never" "beyond a port" "Assumptions" "(never)" \
  "1080 of 1530 cells are left out: their GPUs cannot hold the tables beside the batch"
accepted dlrm "$pooling" --map --format csv
holds "$work/out" "128-nic-row-p20-d128-fp32-b512" "iso_rate" "gain_26800"

# Capacity: the shortfall is told; where no store has room the command fails.
accepted dlrm "$training" --set cluster.gpus=2
holds "$work/out" "short"
refused 4 "short" -- dlrm "$training" --set cluster.gpus=2 --set 'compare=["nvlink"]'

# Sharers that the cluster does not have were counted as all of it.
refused 3 "1000 GPUs cannot read at once in a cluster of 8" "pool.sharers" -- dlrm "$training" --set pool.sharers=1000
accepted dlrm "$training" --set pool.sharers=8 --set 'compare=["pool"]' --format csv
cp "$work/out" "$work/all"
accepted dlrm "$training" --set 'compare=["pool"]' --format csv
diff -q "$work/out" "$work/all" >/dev/null || bad "the default of pool.sharers is not all of a small cluster"

refused 3 "no embedding tables" -- dlrm "$pooling" --set 'embedding.table=[]'
refused 3 "nothing to compare" -- dlrm "$training" --set 'compare=[]'
refused 3 "named twice" -- dlrm "$training" --set 'compare=["nvlink", "nvlink"]'
refused 3 "unknown key" "spraed" -- dlrm "$training" --set 'sharding.spraed="row"'
refused 3 "rows" -- dlrm "$training" --set 'sharding.spread="rows"'
refused 3 "H1000" -- dlrm "$training" --set 'cluster.gpu="H1000"'
refused 3 "do not fill domains of 8" -- dlrm "$training" --set cluster.gpus=12 --set cluster.domain=8
refused 3 "fewer than" -- dlrm "$training" --set step.batch=4
refused 3 "columns do not split" -- dlrm "$training" --set 'sharding.spread="column"' --set sharding.columns=3
refused 3 "dot products" -- dlrm "$training" --set 'dense.interaction="dot"' --set dense.bottom=[64]
refused 3 "unit" -- dlrm "$training" --set host.rate=52
refused 3 "port_rate" -- dlrm "$training" --set 'pool.module.port_rate="fast"'
refused 5 "no-such" -- dlrm "$work/no-such.toml"
refused 2 -- dlrm
finish
