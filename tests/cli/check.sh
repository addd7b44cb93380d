#!/usr/bin/env bash
# photonrail check: pools, inference and training scenarios; what is broken is named, with status 4.
# usage: check.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
table5=$root/examples/pool-paper-table-5.toml
appliance=$root/examples/pool-appliance.toml

# The paper's Table 5: both cuts by name, with figures, and the bytes in flight.
run check "$table5"
((status == 4)) || bad "Table 5: status $status, not 4"
holds "$work/err" 'optical port (1 x 7.2 Tb/s)' '29.8 times' 'all-to-all switching of the appliance (1 x 115.2 Tb/s)' \
  '1.86 times' '21.44 MB needed over 800 ns, 2.01 MB sustained' '214.4 Tb/s (26.8 TB/s)' 'as_published'
holds "$work/out" 'BROKEN' '450.9 ms' 'Failure domain'

# Let pass, it is said in every form of the result.
for format in text json csv; do
  accepted check "$table5" --set as_published=true --format "$format"
  [[ $format == csv ]] || holds "$work/out" 'OVERRIDE as_published'
done
accepted check "$table5" --set as_published=true --out "$work/results"
for file in report.txt report.json report.csv scenario.toml; do
  [[ -s $work/results/$file ]] || bad "$file is missing or empty"
done
accepted check "$work/results/scenario.toml" --set as_published=true
run check "$table5" --format json
holds "$work/out" '"violations"' '"possible": 900000000000' '"sustained_in_flight": 2010000'

# What fits: a port's rate, sharers and hit rates, tiers, next-generation links.
accepted check "$table5" --set "reads=[{name='w', rate='0.9 TB/s'}]"
accepted check "$appliance"
holds "$work/out" 'Every modelled rate is carried' '409.6 GB/s' '563.0 GB/s'
accepted check "$root/examples/pool-tiers.toml"
holds "$work/out" '16 appliances' '128 x H200'
accepted check "$root/examples/pool-next-generation.toml"
run check "$root/examples/pool-next-generation.toml" --set module.hbm_stacks=2
((status == 4)) || bad "two stacks: status $status, not 4"
holds "$work/err" 'HBM tier of a module'
run check "$root/examples/pool-tiers.toml" --set tier.uplinks=4
((status == 4)) || bad "four uplinks: status $status, not 4"
holds "$work/err" 'uplinks of an appliance'
run check "$appliance" --set "reads=[{name='tables', size='33 TB'}]"
((status == 4)) || bad "33 TB: status $status, not 4"
holds "$work/err" '33 TB do not fit'

# Training scenarios: rates against what the parts can do.
accepted check "$root/examples/llama-80b-h200-128.toml"
holds "$work/out" 'network interface of H200'
run check "$root/examples/llama-80b-h200-128.toml" --set 'rail.port_rate=400 Gb/s'
((status == 4)) || bad "too wide rails: status $status, not 4"
holds "$work/err" 'rail.ports x rail.port_rate' '4 times'

# Inference scenarios: their own memory, and a pool that they claim.
accepted check "$root/examples/infer-405b-h100x8.toml"
run check "$root/examples/infer-405b-h100x8.toml" --set 'memory.rate=26.8 TB/s'
((status == 4)) || bad "a claimed pool: status $status, not 4"
holds "$work/err" 'optical port'
accepted check "$root/examples/infer-405b-h100x8.toml" --set 'memory.rate=0.9 TB/s' --pool "$appliance"
accepted check "$root/examples/infer-405b-h100x8.toml" --set 'memory.rate=26.8 TB/s' --set memory.as_published=true
holds "$work/out" 'OVERRIDE as_published'

# A scenario that takes its memory from a declared pool: the rate is the pool's, in infer and in check.
pooled=$root/examples/infer-405b-pool.toml
accepted infer "$pooled"
holds "$work/out" '8.000 TB of memory at 900.0 GB/s'
accepted infer "$pooled" --format json
holds "$work/out" '4 readers at once' 'limited by optical port (7.2 Tb/s)' 'memory of one GPU is 8 TB in place of'
accepted infer "$pooled" --set memory.sharers=16 --set memory.hit_rate=0 --format json
holds "$work/out" '409600000000' 'DDR tier of a module'
accepted check "$pooled"
holds "$work/out" '553.8 GB'
# Hits that the HBM tier cannot hold: refused by both, derived where none is stated, said where let pass.
refused 4 'memory.hit_rate = 1 cannot be' '4.6 TB for 4 sharers' '1.152 TB' 'state at most 0.38' -- \
  infer "$pooled" --set serving.batch=2048
run check "$pooled" --set serving.batch=2048
((status == 4)) || bad "hits beyond the HBM tier: status $status, not 4"
holds "$work/err" 'stated hit rates: 5.01 TB do not fit the 1.152 TB of the HBM tiers'
accepted infer "$pooled" --set serving.batch=2048 --set memory.as_published=true
holds "$work/out" 'that hit rate needs 5.01 TB in HBM tiers of 1.152 TB' 'as published'
cp "$appliance" "$work/pool-appliance.toml"
sed '/^hit_rate/d' "$pooled" >"$work/derived.toml"
accepted infer "$work/derived.toml" --set serving.batch=2048
holds "$work/out" '0.23 of the bytes in its HBM tier (what it holds of weights and caches)'
accepted check "$work/derived.toml" --set serving.batch=2048
refused 3 'memory.rate and memory.pool' -- infer "$pooled" --set 'memory.rate=1 TB/s'
refused 3 'without memory.pool' -- infer "$root/examples/infer-405b-h100x8.toml" --set memory.sharers=4
refused 4 'room for 1 to 16' -- infer "$pooled" --set memory.sharers=17
refused 5 'nowhere.toml' -- infer "$pooled" --set memory.pool=nowhere.toml

# Refused with place and hint.
printf '[module]\nprots = 2\n' >"$work/pool.toml"
refused 3 'pool.toml:2:1' 'did you mean "ports"' -- check "$work/pool.toml"
printf '[module]\nport_rate = "7.2 Tb"\n' >"$work/pool.toml"
refused 3 'pool.toml:2:13' -- check "$work/pool.toml"
printf '[accelerator]\ncount = 17\n' >"$work/pool.toml"
refused 3 'pool.toml:2:9' 'room for 16' -- check "$work/pool.toml"
printf '[tier]\nappliances = 4\n' >"$work/pool.toml"
refused 3 'not joined' 'uplinks' -- check "$work/pool.toml"
printf '[accelerator]\ngpu = "H1000"\n' >"$work/pool.toml"
refused 3 'H1000' -- check "$work/pool.toml"
refused 5 'nowhere.toml' -- check "$work/nowhere.toml"
refused 2 '--pool' -- check "$appliance" --pool "$appliance"

# The claims of the paper.
accepted reproduce photonic-fabric --format json
for id in T2/throughput_gain T2/mfu/baseline T2/mfu/pool T3/latency_gain T4/throughput_gain T4/latency_gain \
  T5/saving/60 \
  T5/saving/90 T6/pooling_gain T7/path/saving T8/tray/saving T9/port T9/as_published \
  T2/own/gain/0.9TBs/throughput_best_baseline \
  T3/own/break_even/bandwidth T9/own/in_flight/needed; do
  holds "$work/out" "\"id\": \"$id"
done
accepted reproduce photonic-fabric --only T7 --physics published
grep -q 'own figures' "$work/out" && bad 'own rows in spite of --physics published'
holds "$work/out" 'exact'
refused 3 'T2 to T9' -- reproduce photonic-fabric --only T1
refused 5 'celestisim_bandwidth_sensitivity.csv' -- reproduce photonic-fabric --data "$work"
printf 'pool_bw_TBps\n1\n' >"$work/celestisim_bandwidth_sensitivity.csv"
refused 3 'celestisim_bandwidth_sensitivity.csv:1' 'columns' -- reproduce photonic-fabric --data "$work"
refused 2 '--data' -- reproduce opus
finish
