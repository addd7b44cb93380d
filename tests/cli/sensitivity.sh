#!/usr/bin/env bash
# `photonrail sensitivity` over every command that offers an experiment, each analysis, each bad input.
# usage: sensitivity.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
energy=$root/examples/energy-gpt3-h100-512.toml step=$root/examples/llama-8b-fsdp-64.toml
vary() { accepted sensitivity "$@"; }

# Without a metric: the list of metrics, for each command.
vary energy "$energy"
holds "$work/out" "path_saving" "step_energy"
vary simulate "$step"
holds "$work/out" "rail_optimised/iteration_time"
vary estimate "$step"
holds "$work/out" "rail_optimised/iteration_time"
vary dlrm "$root/examples/dlrm-pool.toml"
holds "$work/out" "step_time"
vary cost "$step"
holds "$work/out" "cost_ratio"
vary infer "$root/examples/infer-llama-70b-h100.toml"
holds "$work/out" "tpot"
vary check "$root/examples/pool-appliance.toml"

# Sweep: ends and order; whole numbers stay whole; two parameters make a grid; a point that cannot be is told.
vary energy "$energy" --vary "published.photonic_switch=5 pJ..25 pJ:3" --metric path_saving --format csv
[[ $(grep -c ',sweep,' "$work/out") == 3 ]] || bad "a sweep of 3 points has another number of lines"
holds "$work/out" "published.photonic_switch=5e-12 J"
vary energy "$energy" --vary paths.electrical_switches=1..3:3 --vary paths.photonic_switches=1,2 --metric path_saving
holds "$work/out" "paths.electrical_switches=3, paths.photonic_switches=2"
vary cost "$step" --vary cluster.gpus=64,65 --metric rail_optimised/cost
holds "$work/out" "cluster.gpus=65" "error"

# Break-even against the closed form: 2 x 65 + 35 k = (1 - 0.6) ... solved for the photonic endpoint at k = 1:
# 2 x + 25 = 0.4 x 165, so x = 20.5 pJ.
vary energy "$energy" --set paths.electrical_switches=1 --break-even "published.photonic_adapter=0 pJ..65 pJ" \
  --metric path_saving --target 0.6
holds "$work/out" "20.5 pJ"
vary energy "$energy" --break-even "published.photonic_adapter=0 pJ..1 pJ" --metric path_saving --target 0.1
holds "$work/out" "does not reach" "stays above"
vary energy "$energy" --break-even "published.photonic_adapter=0 pJ..200 pJ" --metric path_saving \
  --equals "$energy" --equals-set "published.protocol_engine=25 pJ"
holds "$work/out" "30 pJ"

# The rate of a pooled memory at which one GPU serves a token as fast as the paper's baseline of eight.
vary infer "$root/examples/infer-405b-h100x8.toml" --set serving.batch=1 --set parallel.tensor=1 \
  --set "memory.capacity=32 TB" --set memory.source=pool --set memory.as_published=true --metric tpot \
  --break-even "memory.rate=0.9 TB/s..60 TB/s:log" \
  --equals "$root/examples/infer-405b-h100x8.toml" --equals-set serving.batch=1
holds "$work/out" "tpot is" "memory.rate = " "TB/s"

# Monte Carlo: the same on any number of threads, another with another seed.
sampled() { vary energy "$energy" --monte-carlo 200 --vary "components.cpu=100 W..200 W..300 W:triangular" \
  --vary "components.fans=0.05..0.15:normal" --metric step_energy --rank group/ --format json "$@"; }
sampled --threads 1 && cp "$work/out" "$work/one"
sampled --threads 4
cmp -s "$work/out" "$work/one" || bad "threads change the samples"
sampled --seed 9
cmp -s "$work/out" "$work/one" && bad "the seed changes nothing"
vary energy "$energy" --tornado --vary "components.cpu=100 W..300 W" --vary "components.fans=0.05..0.15" \
  --metric step_energy
holds "$work/out" "Elasticity" "#|#"
vary estimate "$step" --vary "scale_up.rate=200 GB/s..900 GB/s:3:log" \
  --metric rail_optimised/iteration_time --out "$work/sweep"
for file in report.txt report.json report.csv; do [[ -s $work/sweep/$file ]] || bad "$file is missing or empty"; done

# What a point overrides is said in every form, also where the override is what is varied.
big=$root/examples/infer-405b-h100x8.toml
for form in text json csv; do
  vary infer "$big" --set "memory.rate=26.8 TB/s" --vary serving.batch=1,2 --metric tpot --format "$form"
  holds "$work/out" "OVERRIDE" "26.8 TB/s in place of 3.35 TB/s" "calibration carried_over" \
    "--set 'memory.rate=26.8 TB/s'" "photonrail infer "
  vary infer "$big" --set serving.batch=1 --vary "memory.rate=3 TB/s,30 TB/s" --metric tpot --format "$form"
  holds "$work/out" "3 TB/s in place of 3.35 TB/s" "other numbers at other points"
  vary infer "$big" --set serving.batch=1 --vary "memory.as_published=true,false" --set "memory.rate=5 TB/s" \
    --metric tpot --format "$form"
  holds "$work/out" "as published, not checked" "the scenario, without a source)"
  vary dlrm "$root/examples/dlrm-pool.toml" --vary "pool.as_published_rate=5 TB/s,26.8 TB/s" \
    --metric pool/step_time --format "$form"
  holds "$work/out" "pool.as_published_rate = " "takes the place of "
  vary check "$root/examples/pool-paper-table-5.toml" --vary "module.port_rate=7.2 Tb/s,8 Tb/s" --metric violations \
    --format "$form"
  holds "$work/out" "OVERRIDE"
  vary energy "$energy" --vary components.fans=0.1,0.2 --metric saving --format "$form"
  holds "$work/out" "OVERRIDE" "none at any point"
done
vary infer "$big" --set serving.batch=1 --break-even "memory.rate=0.9 TB/s..60 TB/s" --metric tpot \
  --equals "$big" --equals-set serving.batch=1 --equals-set "memory.rate=9 TB/s"
holds "$work/out" "the other scenario: memory bandwidth of one GPU is 9 TB/s"

refused 2 "no command with a scenario" "simulate" -- sensitivity simulatte "$step"
refused 2 "there is no metric 'savng'" "saving" -- \
  sensitivity energy "$energy" --vary "components.fans=0.1..0.2" --metric savng
refused 2 "several metrics end in" -- \
  sensitivity simulate "$step" --vary training.sequence=2048,4096 --metric iteration_time
refused 2 "--vary" -- sensitivity energy "$energy" --vary "components.fans=0.2..0.1" --metric saving
refused 2 "units of one kind" -- sensitivity energy "$energy" --vary "components.cpu=1 W..2 pJ" --metric saving
refused 2 "varied twice" -- sensitivity energy "$energy" --vary a=1..2 --vary a=1..3 --metric saving
refused 2 "--seed" "at least 0" "-1" -- sensitivity energy "$energy" --monte-carlo 5 --seed -1 \
  --vary "components.fans=0.1..0.2" --metric saving
refused 2 "not a list" -- sensitivity energy "$energy" --tornado --vary components.fans=0.1,0.2 --metric saving
refused 2 "--metric is missing" -- sensitivity energy "$energy" --vary components.fans=0.1,0.2
refused 2 "nothing is varied" -- sensitivity energy "$energy" --metric saving
refused 2 "--target" -- sensitivity energy "$energy" --break-even "components.fans=0.1..0.2" --metric saving
refused 2 "exclude each other" -- sensitivity energy "$energy" --break-even "components.fans=0.1..0.2" --metric saving \
  --target 1 --equals "$energy"
refused 2 "a finite number" -- \
  sensitivity energy "$energy" --break-even "components.fans=0.1..0.2" --metric saving --target nan
refused 2 "exactly one --metric" -- \
  sensitivity energy "$energy" --break-even "components.fans=0.1..0.2" --target 1 \
  --metric saving --metric step_energy
refused 3 "components.fanz" -- sensitivity energy "$energy" --vary components.fanz=0.1..0.2 --metric saving
refused 5 "missing.toml" -- sensitivity energy "$work/missing.toml"
# Rates in readable units in text, exact in csv.
accepted sensitivity check "$root/examples/pool-appliance.toml" \
  --vary 'module.port_rate=4 Tb/s..8 Tb/s:2' --metric weights.possible
holds "$work/out" "module.port_rate=1 TB/s"
accepted sensitivity check "$root/examples/pool-appliance.toml" \
  --vary 'module.port_rate=4 Tb/s..8 Tb/s:2' --metric weights.possible \
  --format csv
holds "$work/out" "module.port_rate=8000000000000 b/s"
finish
