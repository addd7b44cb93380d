#!/usr/bin/env bash
# One example: it runs, shows every case that it names, and gives the same report whatever the number of threads.
# usage: examples.sh PHOTONRAIL ROOT EXAMPLE
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
example=$root/examples/${3:?the name of an example}

accepted simulate "$example" --out "$work/results" --threads 2
holds "$work/out" "Step" "digest"
diff -q "$work/out" "$work/results/report.txt" >/dev/null || bad "report.txt differs from what was printed"
for file in report.txt report.json report.csv scenario.toml; do
  [[ -s $work/results/$file ]] || bad "$file is missing or empty"
done

# The scenario as run is a scenario, and gives the same report.
accepted simulate "$work/results/scenario.toml" --format json --threads 1
digest() { sed -n 's/^  "digest": "\([0-9a-f]*\)",$/\1/p' "$1"; }
[[ -n $(digest "$work/out") ]] || bad "no digest"
[[ $(digest "$work/out") == "$(digest "$work/results/report.json")" ]] || bad "the scenario as run gives another report"

# Every case of the scenario is in the table of cases, with a result or with the reason why not.
accepted show "$example"
names=$(sed -n 's/^\(fabrics\|policies\) = \[\([^]]*\)\].*/\2/p' "$work/out" | tr -d '"' | tr ',' ' ')
[[ -n $names ]] || bad "show names no case"
for name in $names; do
  grep -q "^${name}[@,]" "$work/results/report.csv" || bad "case $name is not in the report"
done

# Every id that is listed can be explained.
accepted explain "$work/results/report.json"
ids=$(sed -n '/^Metrics/,/^$/p' "$work/out" | awk 'NR > 2 && NF { print $1 }')
[[ $(wc -w <<<"$ids") -ge 40 ]] || bad "only $(wc -w <<<"$ids") metrics are listed"
for id in $ids; do accepted explain "$work/results/report.json" "$id"; done
finish
