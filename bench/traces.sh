#!/usr/bin/env bash
# Time and memory of the whole command on the published workloads, all ranks, read from the archives as they are.
# Targets on two cores, for static, on demand and provisioned each: 2 GiB; by our own physics 10 s; by the published
# rules 10, 20 and 60 s at 128, 512 and 2,048 GPUs.
# usage: bench/traces.sh BINARY      status 1 when a target is missed; skipped without the folder shared/data/opus
set -euo pipefail

binary=${1:?usage: bench/traces.sh BINARY}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$here/../../shared/data/opus
[[ -f $data/targets.csv ]] || { echo "skipped: there is no $data"; exit 0; }
data=$(cd "$data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# measure RULES WORKLOAD POLICY LIMIT COMMAND...: one row of the table; the limit is in seconds.
measure() {
  local seconds kilobytes verdict=ok
  /usr/bin/time -o "$work/time" -f '%e %M' "${@:5}" >"$work/output"
  read -r seconds kilobytes <"$work/time"
  awk -v s="$seconds" -v k="$kilobytes" -v limit="$4" 'BEGIN { exit !(s <= limit && k <= 2097152) }' ||
    { verdict=MISSED; status=1; }
  printf '%-10s %-10s %-20s %8s %6s %6d %s\n' "$1" "$2" "$3" "$seconds" "$4" $((kilobytes / 1024)) "$verdict"
}

# published WORKLOAD MODE LIMIT: the static row of targets.csv with another mode and, where it switches, 10 ms. Only
# time and memory are of interest here, so the published step time of the static row may stand in it.
published() {
  local delay=10
  [[ $2 != static_eps ]] || delay=
  awk -F, -v OFS=, -v workload="$1" -v mode="$2" -v delay="$delay" '
    NR == 1 { print }
    $2 == workload && $10 == "static_eps" { $10 = mode; $11 = delay; print }' "$data/targets.csv" >"$work/targets.csv"
  measure published "$1" "$2" "$3" "$binary" reproduce opus --data "$work" --physics published --format json --quiet
}

# own WORKLOAD ARCHIVE DOMAIN POLICY
own() {
  measure own "$1" "$4" 10 "$binary" simulate "$here/../examples/imported-trace.toml" --format json \
    --set "workload.trace=\"$2\"" --set "cluster.domain=$3" --set rail.ports=4 --set 'switching.times=["10 ms"]' \
    --set 'electrical.fabrics=[]' --set "control.policies=[\"$4\"]" --set "baseline=\"$4\""
}

for part in traces configs golden; do ln -s "$data/$part" "$work/$part"; done
printf '%-10s %-10s %-20s %8s %6s %6s\n' rules workload policy seconds limit MiB
while read -r workload domain limit; do
  archive=$(compgen -G "$data/traces/*${workload%_dp16}_*.tar.xz")
  for policy in static_proportional on_demand provisioned; do own "$workload" "$archive" "$domain" "$policy"; done
  for mode in static_eps ondemand provision; do published "$workload" "$mode" "$limit"; done
done <<'END'
fig12 8 10
fig13 32 20
h200_dp16 8 20
gb200_dp16 32 60
END
exit "$status"
