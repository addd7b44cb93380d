#!/usr/bin/env bash
# The command emulate-ocs: one matrix behind several protocols, its log, its dump, its end, and each kind of bad input.
# usage: emulate_ocs.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
pid=
trap '[[ -z $pid ]] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT

# Every command of this test ends by itself; one that listens although it should refuse must not hang the test.
run() {
  status=0
  timeout 20 "$photonrail" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# start ARGUMENT...: the emulator in the background, until it is ready; leaves pid, and its addresses in $work/ready.
start() {
  : >"$work/ready"
  "$photonrail" emulate-ocs "$@" >"$work/ready" 2>"$work/err" </dev/null &
  pid=$!
  until grep -q ready "$work/ready"; do
    kill -0 "$pid" 2>/dev/null || { bad "emulate-ocs $*: ended"; sed 's/^/    /' "$work/err"; finish; exit 1; }
    read -rt 0.02 <> <(:) || true
  done
}

# stop SIGNAL STATUS
stop() {
  local ended=0
  kill -"$1" "$pid"
  wait "$pid" 2>/dev/null || ended=$?
  checks=$((checks + 1))
  ((ended == $2)) || bad "after $1: status $ended, not $2"
  pid=
}

# port DIALECT: of the emulator that runs.
port() { sed -n "s/^$1 .*:\([0-9]*\)\$/\1/p" "$work/ready"; }

# talk PORT LINES LINE...: sends each line, prints as many lines of replies, without carriage returns.
talk() {
  local to=$1 lines=$2 reply
  shift 2
  exec 7<>"/dev/tcp/127.0.0.1/$to"
  printf '%s\n' "$@" >&7
  while ((lines-- > 0)) && IFS= read -rt 10 reply <&7; do printf '%s\n' "${reply%$'\r'}"; done >"$work/out"
  exec 7>&-
}

# ---- one matrix, two protocols
start --listen scpi=127.0.0.1:0 --listen tl1=127.0.0.1:0 --size 8x8 --serial 42 --settle '1 ms' \
  --writer-log "$work/log" --dump "$work/dump"
scpi=$(port polatis-scpi)
talk "$scpi" 1 '*idn?'
holds "$work/out" "Photonrail,EMU-8x8,42,1.0"
talk "$scpi" 2 '*cls;:oxc:swit:conn:add (@1,2),(@10,9);*opc?' ':oxc:swit:conn:stat?'
holds "$work/out" "1" "(@1,2),(@10,9)"
talk "$(port polatis-tl1)" 12 'RTRV-PATCH:::7:;'
holds "$work/out" "COMPLD" '"1,10"' '"2,9"'
holds "$work/log" '"event":"start"' '"serial":"42"' '"added":[[0,1],[1,0]]' '"removed":[]' '"at_ns":'

# ---- the dump, while it runs and at the end
kill -USR1 "$pid"
for _ in {1..200}; do [[ ! -s $work/dump ]] || break; read -rt 0.05 <> <(:) || true; done
holds "$work/dump" '"in":0,"out":1,"status":"tuned","lit":true' '"faults_struck":{}'
talk "$scpi" 1 '*cls;:oxc:swit:conn:sub (@1),(@10);*opc?'
stop TERM 0
holds "$work/dump" '"in":1,"out":0'
checks=$((checks + 1))
! grep -qF '"in":0,"out":1' "$work/dump" || bad "the dump at the end shows a pair that was removed"
holds "$work/log" '"removed":[[0,1]]' '"event":"stop"'

# ---- killed, with half a line in its log: a switch that restores has the matrix again
printf '{"event":"chan' >>"$work/log"
start --listen 127.0.0.1:0 --size 8x8 --cold-boot restore --writer-log "$work/log"
talk "$(port polatis-scpi)" 1 ':oxc:swit:conn:stat?'
holds "$work/out" "(@2),(@9)"
stop KILL 137
start --listen 127.0.0.1:0 --size 8x8 --cold-boot remove --writer-log "$work/log"
talk "$(port polatis-scpi)" 1 ':oxc:swit:conn:stat?'
holds "$work/out" "(@),(@)"
stop INT 0

# ---- misbehaviour is drawn, counted, and the same for the same seed
for round in 1 2; do
  start --listen scpi=127.0.0.1:0 --size 8x8 --fault busy=0.5 --seed 7 --command-time '0 ms' --dump "$work/dump$round"
  for _ in {1..20}; do talk "$(port polatis-scpi)" 1 '*cls;:oxc:swit:conn:add (@1),(@9);*opc?'; done
  stop TERM 0
  grep -o '"busy":[0-9]*' "$work/dump$round" >"$work/busy$round" || bad "no fault struck"
done
checks=$((checks + 1))
diff -q "$work/busy1" "$work/busy2" >/dev/null || bad "another run with the same seed has other faults"

# ---- addresses as JSON, every dialect that needs no files
start --format json --listen scpi=127.0.0.1:0 --listen tl1=127.0.0.1:0 --listen calient=127.0.0.1:0 \
  --listen glimmerglass=127.0.0.1:0 --listen netconf=127.0.0.1:0 --listen restconf=127.0.0.1:0 \
  --variant scpi=none-marker --variant tl1=paging
holds "$work/ready" '{"ready":true,"listen":[{"dialect":"polatis-scpi","host":"127.0.0.1","port":' \
  '"calient-tl1"' '"glimmerglass-tl1"' '"polatis-netconf"' '"polatis-restconf"'
stop TERM 0

# ---- a login is asked for where the dialect has one
printf 'secret\n' >"$work/password"
start --listen tl1=127.0.0.1:0 --user operator --password-file "$work/password"
talk "$(port polatis-tl1)" 4 'RTRV-PATCH:::7:;'
holds "$work/out" "DENY"
stop TERM 0

# ---- an address is taken
start --listen scpi=127.0.0.1:0
refused 5 "$(port polatis-scpi)" -- emulate-ocs --listen "127.0.0.1:$(port polatis-scpi)"
stop TERM 0

# ---- bad input, one by one
refused 2 "--anywhere" -- emulate-ocs --listen 0.0.0.0:0
refused 2 "--anywhere" -- emulate-ocs --listen '[::]:0'
refused 2 "--anywhere" -- emulate-ocs --listen example.net:5025
refused 2 "no such dialect" "scpi, tl1" -- emulate-ocs --listen smtp=127.0.0.1:0
refused 2 "no such dialect" -- emulate-ocs --dialect telnet
refused 2 "HOST:PORT" -- emulate-ocs --listen 127.0.0.1
refused 2 "HOST:PORT" -- emulate-ocs --listen 127.0.0.1:99999
refused 2 "HOST:PORT" -- emulate-ocs --listen ::1:5025
for size in 16 16x 0x4 x 16x16x16 5000x4 -1x4 axb; do refused 2 "--size" -- emulate-ocs "--size=$size"; done
refused 2 "no such fault" "is it partial?" -- emulate-ocs --fault partail=0.1
refused 2 "NAME=NUMBER" -- emulate-ocs --fault partial
for value in 1.5 -0.1 nan inf '' x 0.1x; do refused 2 "from 0 to 1" -- emulate-ocs "--fault=partial=$value"; done
refused 2 "times a second" -- emulate-ocs --fault retunes=1e9
refused 2 "--settle" -- emulate-ocs --settle 20
refused 2 "not negative" -- emulate-ocs --command-time=-1ms
refused 2 "--settle-sigma" -- emulate-ocs --settle-sigma nan
refused 2 "rejects or steals" -- emulate-ocs --conflict both
refused 2 "restore or maintain" -- emulate-ocs --cold-boot warm
refused 2 "--writer-log" -- emulate-ocs --cold-boot restore
refused 2 "--serial" "letters" -- emulate-ocs --serial 'a,b'
refused 2 "--maker" -- emulate-ocs --maker ''
refused 2 "together" -- emulate-ocs --user operator
refused 2 "together" -- emulate-ocs --password-file "$work/password"
refused 5 "cannot be read" -- emulate-ocs --user operator --password-file "$work/none"
: >"$work/empty"
refused 5 "first line" -- emulate-ocs --user operator --password-file "$work/empty"
printf '\nsecret\n' >"$work/blank"
refused 3 "empty" -- emulate-ocs --user operator --password-file "$work/blank"
refused 2 "no such variant" "none-marker" -- emulate-ocs --variant scpi=paging
refused 2 "nothing listens" -- emulate-ocs --variant tl1=paging
refused 2 "DIALECT=NAME" -- emulate-ocs --variant paging
refused 2 "--sessions" -- emulate-ocs --sessions 0
refused 2 "--format" -- emulate-ocs --format csv
refused 2 "--seed" -- emulate-ocs --seed=-1
refused 5 "$work/no/log" -- emulate-ocs --listen 127.0.0.1:0 --writer-log "$work/no/log"
printf 'no log\n{}\n' >"$work/other"
refused 3 "$work/other:1" -- emulate-ocs --listen 127.0.0.1:0 --cold-boot restore --writer-log "$work/other"

finish
