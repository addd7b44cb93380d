#!/usr/bin/env bash
# Time and memory of the published workloads, archive reading included, one row of targets.csv at a time.
# Targets on two cores, each of static, on demand and provisioned: 10, 20 and 60 s at 128, 512 and 2,048 GPUs, 2 GiB.
# usage: bench/traces.sh BINARY      status 1 when a target is missed; skipped without the folder shared/data/opus
set -euo pipefail

binary=${1:?usage: bench/traces.sh BINARY}
data=$(dirname "${BASH_SOURCE[0]}")/../../shared/data/opus
[[ -f $data/targets.csv ]] || { echo "skipped: there is no $data"; exit 0; }
data=$(cd "$data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for part in traces configs golden; do ln -s "$data/$part" "$work/$part"; done
columns=$(head -n 1 "$data/targets.csv")
status=0

# measure WORKLOAD MODE DELAY LIMIT-SECONDS: the workload's static row, with this mode and delay. Only time and memory
# are of interest here, so the published step time of the static row may stand in it.
measure() {
  local row seconds kilobytes verdict=ok
  row=$(awk -F, -v OFS=, -v w="$1" -v m="$2" -v d="$3" '
    $2 == w && $10 == "static_eps" { $10 = m; $11 = d; print; exit }' \
    "$data/targets.csv")
  [[ -n $row ]] || { echo "targets.csv has no static row of $1" >&2; status=1; return; }
  printf '%s\n%s\n' "$columns" "$row" >"$work/targets.csv"
  /usr/bin/time -o "$work/time" -f '%e %M' "$binary" reproduce opus --data "$work" --format json >"$work/rows.json"
  read -r seconds kilobytes <"$work/time"
  awk -v s="$seconds" -v k="$kilobytes" -v limit="$4" 'BEGIN { exit !(s <= limit && k <= 2097152) }' ||
    { verdict='MISSED'; status=1; }
  printf '%-12s %-12s %6s %10s %8s %10d %s\n' "$1" "$2" "$3" "$seconds" "$4" $((kilobytes / 1024)) "$verdict"
}

printf '%-12s %-12s %6s %10s %8s %10s\n' workload mode ms seconds limit MiB
while read -r workload limit; do
  measure "$workload" static_eps '' "$limit"
  measure "$workload" ondemand 10 "$limit"
  measure "$workload" provision 10 "$limit"
done <<'END'
fig12 10
fig13 20
h200_dp16 20
gb200_dp16 60
END
exit "$status"
