#!/usr/bin/env bash
# photonrail replay and photonrail audit, on what two starts of photonraild leave behind.
# usage: records.sh PHOTONRAIL ROOT PHOTONRAILD
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
photonraild=${3:?usage: records.sh PHOTONRAIL ROOT PHOTONRAILD}
state=$work/state

cat >"$work/config.toml" <<'END'
[listen]
address = "127.0.0.1:0"
plaintext = true
[metrics]
address = ""
[[switch]]
name = "ocs"
dialect = "polatis-scpi"
address = "127.0.0.1:1"
END

# One start, until it leads, and an orderly stop.
start_and_stop() {
  "$photonraild" "$work/config.toml" 2>"$work/log" &
  local daemon=$!
  for _ in {1..200}; do
    if grep -q '"event":"leading"' "$work/log" && [[ -s $state/audit.log ]]; then break; fi
    sleep 0.05
  done
  kill "$daemon"
  wait "$daemon" || bad "photonraild ended with status $?"
}
start_and_stop
start_and_stop

accepted replay "$state"
holds "$work/out" '1  epoch_begun     controller epoch 1' '2  epoch_begun     controller epoch 2' \
  'State after 2 records: digest ' 'controller epoch 2'
digest=$(grep -o 'digest [0-9a-f]*' "$work/out")
accepted replay "$state"
holds "$work/out" "$digest"
accepted replay "$state" --to 1
holds "$work/out" 'State after 1 records' 'controller epoch 1'
checks=$((checks + 1))
if grep -qF "$digest" "$work/out"; then bad 'another state has the same digest'; fi
accepted replay "$state" --format json
holds "$work/out" '"kind":"epoch_begun"' '"torn_bytes":0' '"epoch":2'

# A journal that was torn is read, and left as it is.
journal=("$state"/journal-*.log)
printf 'torn' >>"${journal[-1]}"
sum=$(cksum <"${journal[-1]}")
accepted replay "$state"
holds "$work/out" '4 bytes at the end are torn'
[[ $(cksum <"${journal[-1]}") == "$sum" ]] || bad 'replay changed the journal'

refused 2 'give the state directory' -- replay
refused 3 'no journal is here' -- replay "$work"
refused 5 'nowhere' -- replay "$work/nowhere"
refused 5 'etcd (127.0.0.1:1)' -- replay --etcd 127.0.0.1:1

accepted audit verify "$state/audit.log"
holds "$work/out" 'each follows from the one before'
head=$(grep -o '[0-9a-f]\{64\}' "$work/out")
accepted audit verify "$state/audit.log" --head "$head"
accepted audit show "$state/audit.log" --containing leads
holds "$work/out" 'epoch 1  controller  leads' 'epoch 2  controller  leads'
accepted audit show "$state/audit.log" --containing leads --limit 1
checks=$((checks + 1))
[[ $(wc -l <"$work/out") == 1 ]] || bad 'more than one line in spite of --limit 1'

sed '1s/leads/reads/' "$state/audit.log" >"$work/changed.log"
refused 3 'changed.log: line 1' 'was changed' -- audit verify "$work/changed.log"
refused 3 'changed.log: line 1' -- audit show "$work/changed.log"
sed '1d' "$state/audit.log" >"$work/shorter.log"
refused 3 'shorter.log: line 1' -- audit verify "$work/shorter.log"
sed '$d' "$state/audit.log" >"$work/cut.log"
refused 3 'cut from its end' -- audit verify "$work/cut.log" --head "$head"
refused 2 'subcommand is required' -- audit
finish
