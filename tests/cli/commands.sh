#!/usr/bin/env bash
# Every command once, in every form; help that suffices.
# usage: commands.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
example=$root/examples/two-ports.toml

accepted version
holds "$work/out" 'photonrail '
accepted --version
accepted --help
for command in simulate windows cost catalog schema show explain reproduce version; do
  holds "$work/out" "$command"
done
holds "$work/out" 'Exit status' 'Examples'
for command in simulate windows cost catalog schema show explain reproduce version; do
  accepted "$command" --help
  cp "$work/out" "$work/help"
  [[ $command == version ]] || holds "$work/help" 'Example' "photonrail $command"
done

accepted schema
# shellcheck disable=SC2016  # a key of JSON Schema, no variable
holds "$work/out" '"$schema"' '"port_rate"'
accepted schema dlrm
holds "$work/out" '"sharding"' '"pooling"'
for other in infer-llama-70b-h100:infer dlrm-pool:dlrm energy-gpt3-h100-512:energy pool-appliance:check; do
  for asked in show explain; do
    refused 3 "a file of \`photonrail ${other#*:}\`" "hint: photonrail ${other#*:}" -- \
      "$asked" "$root/examples/${other%:*}.toml"
    (($(wc -l <"$work/err") == 2)) || bad "$asked of ${other%:*}.toml: more than a line and a hint"
  done
done
accepted reproduce photonic-fabric --only T5
holds "$work/out" " 0.6  0.557377 "
accepted reproduce photonic-fabric --only T5 --format csv
holds "$work/out" ",0.6,0.55737704918"
accepted schema --format markdown
holds "$work/out" 'port_rate'
accepted show "$example" --set rail.ports=4 --set 'rail.port_rate="100 Gb/s"'
holds "$work/out" '--set' 'two-ports.toml:' 'default'
accepted catalog
holds "$work/out" 'H200' 'polatis-6000n' 'llama-80b-opus'
accepted catalog list --format json
holds "$work/out" '"H200"'
accepted catalog show H200
holds "$work/out" '989'
accepted catalog show polatis-6000n --format json
holds "$work/out" 'polatis-6000n'

for format in text json csv; do
  accepted simulate "$example" --format "$format" --threads 1
  cp "$work/out" "$work/one"
  accepted simulate "$example" --format "$format" --threads 4
  cmp -s "$work/one" "$work/out" || bad "simulate --format $format depends on the number of threads"
  accepted windows "$example" --format "$format"
  accepted cost "$example" --format "$format"
done
accepted simulate "$example"
holds "$work/out" 'needs 4 ports per GPU' 'On rail_optimised one step takes' 'Not possible here: static_proportional'
holds "$work/out" 'capacity is not checked' \
  'dark 25 ms + settle 175 ms + link-up 100 ms + relock 0 s = 300 ms (typical)'
# Options before the file, and repeated, mean the same.
accepted simulate --set rail.ports=4 --set 'rail.port_rate="100 Gb/s"' --set 'name="first"' "$example" \
  --format csv
holds "$work/out" 'static_proportional,static_proportional,photonic,,iteration_time,'
accepted windows "$example" --case on_demand --switching-time '25 ms'
accepted explain "$example" 'step time'
holds "$work/out" 'iteration_time'
accepted explain "$example" mfu
holds "$work/out" 'model_flops / (iteration_time * gpus * gpu_peak)' 'source:'

# Bare traces, and windows of a run with switching.
accepted windows "$root/examples/traces/two-stages" --domain 2
holds "$work/out" 'pipeline -> data' 'data -> pipeline'
accepted windows "$root/examples/imported-trace.toml" --case provisioned@25ms --format json
refused 2 'provisioned@25ms' 'switching.times=["26 ms"]' -- \
  windows "$root/examples/imported-trace.toml" --case provisioned@26ms

# The main example, and its windows by the formula: 1 + 2 + 2 + 2 for plain data parallelism on four stages.
accepted windows "$root/examples/llama-80b-h200-128.toml"
holds "$work/out" 'Windows of one rail in program order, by formula: 7' 'Rails stop paying at a switching time of' \
  'provisioned against rail_optimised' 'No step gets longer by these sums'

# The paper's headline: 4.27 times the cost, 23.86 times the power at 2,048 H200.
accepted cost --gpus 2048 --gpu H200 --mode as_published
holds "$work/out" '4.27' '23.86'
accepted cost --gpus 2048 --gpu GB200 --domain 32 --rate '800 Gb/s' --mode as_published
holds "$work/out" '3.17' '15.44'
accepted cost --mode as_published
holds "$work/out" '4.27' '23.86' '3.17' '15.44'

# Published step times, where the data lie beside the checkout.
data=$root/../shared/data/opus
if [[ -d $data ]]; then
  accepted reproduce opus --data "$data" --only smoke
  holds "$work/out" '20 of 20 published figures are met to the last digit'
  accepted reproduce opus --data "$data" --only smoke/dp2pp2tp2/50-450GBps/ondemand/10ms --physics reasons --format json
  holds "$work/out" '"relative_error": 0,' '"published": 62261639059,' '/own/' '"unit": "ns"'
  accepted reproduce opus --data "$data" --only ondemand/10ms --only smoke --physics published --out "$work/rows"
  for file in reproduce.txt reproduce.json reproduce.csv; do
    [[ -s $work/rows/$file ]] || bad "$file is missing or empty"
  done
  # A rung that cannot be run is told, not left out: no catalog model stands behind this name.
  mkdir "$work/odd" && ln -s "$data/traces" "$data/configs" "$work/odd/"
  { head -n 1 "$data/targets.csv"; grep '^smoke,.*,provision,10,' "$data/targets.csv" | sed 's/,gpt,/,nobody,/'; } \
    >"$work/odd/targets.csv"
  run reproduce opus --data "$work/odd" --format json
  ((status == 1)) || bad "a refused rung: status $status"
  holds "$work/out" 'own/generated_step' 'nobody-80b-opus' '"refused"'
  refused 3 'no target' -- reproduce opus --data "$data" --only nothing
  # A row that cannot be run loses no other: everything is printed, then the status says so.
  mkdir -p "$work/targets" && ln -s "$(cd "$data" && pwd)"/{configs,traces,golden} "$work/targets"
  { head -n 1 "$data/targets.csv"; grep '^smoke,.*,provision,10,' "$data/targets.csv"; echo 'x,smoke'; } \
    >"$work/targets/targets.csv"
  run reproduce opus --data "$work/targets" --only smoke --only line3 --physics published --format json
  ((status == 1)) || bad "a refused row: status $status, not 1"
  holds "$work/out" '"ours": null' '"refused": ' 'targets.csv:3: 2 fields, the header has 15' '"relative_error": 0,'
fi
finish
