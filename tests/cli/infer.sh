#!/usr/bin/env bash
# photonrail infer: every example, the search, and each bad input.
# usage: infer.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
examples=$root/examples

# ---- good runs ------------------------------------------------------------------------------------------------------
for example in "$examples"/infer-*.toml; do
  [[ $example == */infer-70b-on-one-80gb.toml ]] && continue
  accepted infer "$example" --out "$work/results"
  holds "$work/out" 'TTFT' 'TPOT' 'per GPU' 'per box' 'per watt' 'MFU' 'bound by' 'matrix products' 'collectives' \
    'Memory of one GPU' 'largest batch' 'Assumptions' 'calibration' 'digest'
  diff -q "$work/out" "$work/results/report.txt" >/dev/null || bad "report.txt differs from what was printed"
  # The scenario as run gives the same report, and every number can be explained.
  accepted infer "$work/results/scenario.toml" --format json
  diff -q "$work/out" "$work/results/report.json" >/dev/null || bad "$example: the scenario as run gives another report"
  accepted explain "$work/results/report.json" throughput_per_gpu
done

base=$examples/infer-llama-70b-h100.toml
accepted infer "$base" --format csv
holds "$work/out" ',tpot,' ',ttft,' ',energy_per_token,' ',memory_weights,'
accepted infer "$base" --show
holds "$work/out" 'largest_batch' '# default'

accepted infer "$base" --search --format text
holds "$work/out" 'Pareto front' 'best by throughput_per_gpu' 'tried' 'TPOT at most 50 ms'
cp "$work/out" "$work/first"
accepted infer "$base" --search --format text
diff -q "$work/out" "$work/first" >/dev/null || bad "two searches differ"
grep -qE 'requests in flight: (64|128|256|512),' "$work/out" && bad 'the best batch is not refined'
sed '/_limit/d' "$base" >"$work/unlimited.toml"
accepted infer "$work/unlimited.toml" --search
holds "$work/out" 'none, so that a batch as large as fits may win' 'search.ttft_limit'

# What a figure leaves out or is made of is said beside it, in every form.
accepted infer "$base" --format json
holds "$work/out" '"tpot_prompts"' '"tpot_decode"'
accepted infer "$examples/infer-disaggregated.toml"
holds "$work/out" 'limited by' 'prefill workers at'
accepted infer "$examples/infer-405b-pool.toml"
holds "$work/out" 'WITHOUT the power of the pool'
accepted infer "$examples/infer-deepseek-v3-b200.toml"
holds "$work/out" 'on each of 8 attention copies' 'routed experts nvfp4 assumed'

# No number where there is nothing to count: the time per token of an answer of one. MFU is never above 1.
accepted infer "$examples/infer-405b-h100x8.toml" --set serving.output=1 --format csv
grep -q ',tpot' "$work/out" && bad 'a time per token of an answer of one token'
accepted infer "$examples/infer-405b-h100x8.toml" --set serving.output=1
grep -qE '^  TPOT +-  ' "$work/out" || bad 'TPOT of an answer of one token is not "-"'
accepted infer "$examples/infer-405b-h100x8.toml" --set model.catalog=gpt-3-13b --set model.weights=fp32 \
  --set model.kv=bf16 --set gpu.catalog=B300 --set parallel.tensor=1 --set serving.batch=1 \
  --set serving.input=200000 --set serving.output=2 --format csv
mfu=$(sed -n 's/.*,mfu,\([^,]*\),.*/\1/p' "$work/out")
awk -v mfu="$mfu" 'BEGIN { exit !(mfu > 0 && mfu < 1) }' || bad "MFU of fp32 weights is $mfu"

# Another memory is said on every result.
accepted infer "$examples/infer-405b-h100x8.toml" --set parallel.tensor=1 --set 'memory.rate=26.8 TB/s' \
  --set 'memory.capacity=32 TB' --set memory.as_published=true
holds "$work/out" 'OVERRIDE: memory bandwidth of one GPU is 26.8 TB/s in place of 3.35 TB/s' 'as published'

# ---- what does not fit ----------------------------------------------------------------------------------------------
trap_case=$examples/infer-70b-on-one-80gb.toml
refused 4 'does not fit on 1 x H100' 'GB' 'fit' 'parallel.tensor = ' -- infer "$trap_case"
refused 4 'no configuration of [search]' '2 do not fit the memory' -- \
  infer "$trap_case" --search --set 'search.gpus=1' --set 'search.batches=[512]'
refused 4 'no configuration of [search]' 'the least TPOT' -- infer "$base" --search --set 'search.tpot_limit=1 us'

# ---- bad input ------------------------------------------------------------------------------------------------------
with() { sed "s|^$1.*|$2|" "$base" >"$work/bad.toml"; }
with 'tensor' 'tensors = 4'
refused 3 'bad.toml:14:1' 'unknown key "tensors"' 'tensor' -- infer "$work/bad.toml"
with 'weights' 'weights = "fp7"'
refused 3 'bad.toml:7:' 'fp7' -- infer "$work/bad.toml"
with 'concurrency' 'batch = 4'
refused 3 'serving.batch has no meaning' 'continuous' -- infer "$work/bad.toml"
refused 3 'no model "llama-3.1-70c"' 'llama-3.1-70b' -- infer "$base" --set model.catalog=llama-3.1-70c
refused 3 'no GPU "H1000"' 'H100' -- infer "$base" --set gpu.catalog=H1000
refused 3 'unit' -- infer "$base" --set memory.rate=3
refused 3 'tensor' -- infer "$base" --set parallel.tensor=3
refused 3 'H100' 'nvfp4' -- infer "$base" --set model.weights=nvfp4
refused 3 'engine' 'trtllm' -- infer "$base" --set engine.name=trt
refused 3 'has no meaning' -- infer "$base" --set disaggregated.prefill_workers=2
refused 5 'nowhere.toml' -- infer "$work/nowhere.toml"
refused 2 'SCENARIO' -- infer
finish
