#!/usr/bin/env bash
# Wrong input, one case at a time: the text must name the place and what would help, and the exit status the kind.
# usage: bad_input.sh PHOTONRAIL ROOT CLI_MAKE_TRACES
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
"${3:?the program that writes traces}" "$work/traces"

base=$work/base.toml
cat >"$base" <<'END'
name = "base"
[model]
layers = 4
hidden = 512
feed_forward = 2048
heads = 8
vocabulary = 1000
[training]
sequence = 512
global_batch = 16
microbatches = 2
[parallelism]
data = 4
pipeline = 2
tensor = 2
[cluster]
gpus = 16
domain = 2
[rail]
ports = 4
port_rate = "100 Gb/s"
[switching]
times = ["1 ms"]
[electrical]
fabrics = ["rail_optimised"]
[control]
policies = ["static_proportional", "on_demand"]
END
accepted simulate "$base"

# with LINE REPLACEMENT: the base scenario with the line that begins so replaced.
with() { sed "s|^$1.*|$2|" "$base" >"$work/bad.toml"; grep -qF -- "${2%%$'\n'*}" "$work/bad.toml"; }
line_of() { grep -n "^$1" "$work/bad.toml" | cut -d: -f1; }

# ---- scenarios ------------------------------------------------------------------------------------------------------
with 'ports = 4' 'portz = 4'
refused 3 "bad.toml:$(line_of portz):1" 'unknown key' 'ports' -- simulate "$work/bad.toml"
with 'port_rate' 'port_rate = "100 GB"'
refused 3 "bad.toml:$(line_of port_rate)" '100 GB' 'GB/s' -- simulate "$work/bad.toml"
with 'port_rate' 'port_rate = 100'
refused 3 "bad.toml:$(line_of port_rate)" 'unit' -- simulate "$work/bad.toml"
with 'gpus = 16' 'gpus = 24'
refused 3 "bad.toml:$(line_of gpus)" 'data' 'pipeline' 'tensor' '24' -- simulate "$work/bad.toml"
with 'ports = 4' 'ports = "four"'
refused 3 "bad.toml:$(line_of ports)" -- simulate "$work/bad.toml"
with 'gpus = 16' 'gpus = ['
refused 3 "bad.toml:" -- simulate "$work/bad.toml"
sed -e 's/^ports = 4/portz = 4/' -e 's/^hidden.*/hidden = "wide"/' "$base" >"$work/bad.toml"
refused 3 "bad.toml:$(line_of portz)" "bad.toml:$(line_of hidden)" -- simulate "$work/bad.toml"
refused 3 'rail.portz' 'ports' '--set' -- simulate "$base" --set rail.portz=2
refused 3 'H201' 'H200' -- simulate "$base" --set 'cluster.gpu="H201"'
refused 3 'llama-9b' -- simulate "$base" --set 'model.catalog="llama-9b"'
refused 5 'absent.toml' -- simulate "$work/absent.toml"
refused 5 "$work" -- simulate "$work"

# ---- what cannot be done --------------------------------------------------------------------------------------------
# A static plan alone has no result, which is a failure; beside others it is a row with the reason.
run simulate "$base" --set rail.ports=2 --set 'electrical.fabrics=[]' --set 'control.policies=["static_proportional"]' \
  --set 'baseline="static_proportional"'
((status == 4)) || bad "too few ports alone: status $status"
holds "$work/err" 'needs 3 ports per GPU' 'there are 2'
accepted simulate "$base" --set rail.ports=2 --set 'rail.port_rate="200 Gb/s"'
holds "$work/out" 'Not possible' 'static_proportional' 'needs 3 ports per GPU' 'there are 2'

# No photonic policy can be built at all: that is no answer, whatever the electrical fabrics say.
run simulate "$base" --set rail.ports=1
((status == 4)) || bad "one port for a ring: status $status"
holds "$work/out" 'static_proportional: static needs 3 ports per GPU' 'on_demand@1ms: a data ring of 4 members needs 2'
refused 2 '--years' 'plain number' -- windows "$base" --years nan
refused 2 '--switching-time' -- windows "$base" --switching-time=-5ms

# The rule that each rank locks its ports for itself never ends where phases overlap: told with the cycle, not a hang.
run simulate "$root/examples/overlap-one-port.toml" --set 'control.admission="naive_lock"' \
  --set 'switching.times=["1 ms"]'
((status == 4)) || bad "the naive lock: status $status"
holds "$work/err" 'deadlock' 'cycle' 'waits for'
holds "$work/out" 'on_demand@1ms' ': deadlock:'

# ---- traces ---------------------------------------------------------------------------------------------------------
trace() {
  cat <<END >"$work/trace.toml"
baseline = "rail_optimised"
[workload]
trace = "$1"
[cluster]
domain = 2
[rail]
ports = 2
port_rate = "200 Gb/s"
[switching]
times = ["1 ms"]
[electrical]
fabrics = ["rail_optimised"]
[control]
policies = ["on_demand"]
END
}
trace "$work/traces/good"
accepted simulate "$work/trace.toml"
trace "$work/traces/foreign"
refused 3 'group' '5' '99' -- simulate "$work/trace.toml"
trace "$work/traces/truncated"
refused 3 'step.0.et' 'byte' -- simulate "$work/trace.toml"
trace "$work/traces/cycle"
refused 3 'cycle' '20' '21' -- simulate "$work/trace.toml"
trace "$work/traces/dangling"
refused 3 '20' '77' -- simulate "$work/trace.toml"
trace "$work/traces/lone_send"
refused 3 'send' 'rank 0' 'rank 4' -- simulate "$work/trace.toml"
trace "$work/traces/sizes"
refused 3 'rank 0' 'rank 2' -- simulate "$work/trace.toml"
trace "$work/traces/lone_collective"
refused 4 'rank 0' 'group 5' 'wait' -- simulate "$work/trace.toml"
trace "$work/traces/missing_rank"
refused 3 '3' -- simulate "$work/trace.toml"
trace "$work/traces/empty"
refused 3 "$work/traces/empty" -- simulate "$work/trace.toml"
trace "$work/traces/absent"
refused 5 "$work/traces/absent" -- simulate "$work/trace.toml"
printf 'this is no archive' >"$work/traces/no.tar.xz"
trace "$work/traces/no.tar.xz"
refused 5 'no.tar.xz' 'archive' -- simulate "$work/trace.toml"
if [[ $EUID != 0 ]]; then
  chmod 000 "$work/traces/good/step.2.et"
  trace "$work/traces/good"
  refused 5 'step.2.et' -- simulate "$work/trace.toml"
  chmod 644 "$work/traces/good/step.2.et"
fi
# A file that cannot be read by anybody, root included: a directory in its place.
cp -r "$work/traces/good" "$work/traces/unreadable"
rm "$work/traces/unreadable/step.2.et" && mkdir "$work/traces/unreadable/step.2.et"
trace "$work/traces/unreadable"
run simulate "$work/trace.toml"
((status == 3 || status == 5)) || bad "a directory in place of a trace: status $status"
holds "$work/err" 'step'

# ---- output ---------------------------------------------------------------------------------------------------------
refused 5 '/proc/photonrail' '--out' -- simulate "$base" --out /proc/photonrail
printf 'x' >"$work/file"
refused 5 "$work/file" '--out' -- simulate "$base" --out "$work/file"
if [[ -e /dev/full ]]; then
  status=0
  "$photonrail" simulate "$base" >/dev/full 2>"$work/err" || status=$?
  ((status == 5)) || bad "a full disk: status $status"
  holds "$work/err" 'standard output'
fi

# ---- the command line -----------------------------------------------------------------------------------------------
for arguments in '' 'simulate' 'simulat x' "simulate $base --fromat json" "simulate $base --format yaml" \
  "simulate $base --threads 0" "simulate $base $base" 'catalog show' 'reproduce opus' 'reproduce nobody --data x'; do
  # shellcheck disable=SC2086  # several words are meant
  run $arguments
  ((status == 2)) || bad "photonrail $arguments: status $status, not 2"
  [[ -s $work/err || -s $work/out ]] || bad "photonrail $arguments: says nothing"
  checks=$((checks + 1))
done
refused 2 'H20' 'H200' -- catalog show H20
refused 2 'polatis-6000' 'polatis-7000' -- catalog show polatis
refused 2 "unknown command 'sim'" 'simulate' -- sim x
refused 3 'switching.ocs' 'polatis-6000n' -- simulate "$base" --set 'switching.ocs="polatis"'
refused 3 'electrical.network_switch' -- simulate "$base" --set 'electrical.network_switch="nobody"'
refused 3 'zero3' 'FSDP' -- simulate "$base" --set 'training.sharding="fsdp"'

# An OCS that the catalog does not know in full: the text has what to type.
with 'times = ' 'ocs = "calient-s320"'
accepted simulate "$work/bad.toml"
holds "$work/out" "--set 'switching.settle=\"0 ms\"'" 'So nothing here says what switching costs.'

# ---- explain --------------------------------------------------------------------------------------------------------
accepted simulate "$base" --out "$work/results"
report=$work/results/report.json
refused 2 'overhed' 'overhead' -- explain "$report" overhed
refused 3 'report.json' -- explain "$work/results/report.txt" overhead
refused 2 'on_demand@2ms' 'on_demand@1ms' -- explain "$report" overhead --case on_demand@2ms
head -c 500 "$report" >"$work/half.json"
refused 3 'half.json:' 'not JSON' -- explain "$work/half.json" overhead
printf '{"photonrail": "x"}' >"$work/other.json"
refused 3 'other.json' 'not a report' -- explain "$work/other.json"
refused 5 'absent.json' -- explain "$work/absent.json"
finish
