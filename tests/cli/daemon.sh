#!/usr/bin/env bash
# Real processes: an emulated switch, photonraild with mutual TLS, an operator, the ranks of a job. Circuits move; the
# daemon is killed and comes back with all that it had promised; what is not allowed is refused and stands in the audit.
# usage: daemon.sh PHOTONRAIL ROOT PHOTONRAILD
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
daemon=${3:?usage: $0 PHOTONRAIL ROOT PHOTONRAILD}
ocs_pid='' daemon_pid='' ranks_pid=''
end_all() {
  local pid
  for pid in $ranks_pid $daemon_pid $ocs_pid; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null
  rm -rf "$work"
}
trap end_all EXIT

pause() { read -rt "$1" <> <(:) || true; }
# within FILE TEXT PID: waits until the text is in the file, or the process has ended.
within() {
  local i
  for ((i = 0; i < 600; ++i)); do
    grep -q -- "$2" "$1" && return
    kill -0 "$3" 2>/dev/null || break
    pause 0.05
  done
  bad "'$2' did not come in $1:"
  tail -n 20 "$1" | sed 's/^/    /'
  finish
  exit 1
}
ctl() { accepted ctl --timeout 20 "$@"; }
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -n 1; }

# ---- the switch
: >"$work/ocs"
"$photonrail" emulate-ocs --listen scpi=127.0.0.1:0 --size 16x16 --settle '2 ms' >"$work/ocs" 2>&1 </dev/null &
ocs_pid=$!
within "$work/ocs" ready "$ocs_pid"
scpi=$(sed -n 's/^polatis-scpi .*:\([0-9]*\)$/\1/p' "$work/ocs")

# ---- certificates and configuration
accepted ctl make-certificates "$work/certs" --job train
holds "$work/out" daemon.crt operator.key job-train.crt
accepted ctl make-certificates "$work/strangers" --job train
cat >"$work/d.toml" <<END
[listen]
address = "127.0.0.1:0"
[tls]
certificate = "certs/daemon.crt"
key = "certs/daemon.key"
authority = "certs/ca.crt"
reload = "1 s"
[state]
directory = "state"
[metrics]
address = "127.0.0.1:0"
[lease]
duration = "2 s"
margin = "200 ms"
[[switch]]
name = "rail0"
dialect = "polatis-scpi"
address = "127.0.0.1:$scpi"
poll = "500 ms"
END
"$daemon" --check "$work/d.toml" >"$work/out"
holds "$work/out" good
sed '0,/^address = "127.0.0.1:0"/s//address = "0.0.0.0:0"\nplaintext = true/' "$work/d.toml" >"$work/open.toml"
"$daemon" --check "$work/open.toml" 2>"$work/err" && bad "plaintext beyond loopback was accepted"
holds "$work/err" "without TLS the daemon listens on loopback alone" "open.toml:3"

start_daemon() {
  : >"$work/log"
  "$daemon" "$work/d.toml" 2>"$work/log" </dev/null &
  daemon_pid=$!
  within "$work/log" '"event":"started"' "$daemon_pid"
  PHOTONRAIL_ADDRESS=127.0.0.1:$(sed -n 's/.*"event":"started".*"port":\([0-9]*\).*/\1/p' "$work/log")
  metrics=$(sed -n 's/.*"metrics_port":\([0-9]*\).*/\1/p' "$work/log")
  export PHOTONRAIL_ADDRESS PHOTONRAIL_CERTIFICATES=$work/certs
}
# page PATH: of the daemon's HTTP pages, to $work/out.
page() {
  exec 7<>"/dev/tcp/127.0.0.1/$metrics"
  printf 'GET %s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&7
  cat <&7 >"$work/out"
  exec 7>&-
}
ready() {
  local i
  for ((i = 0; i < 400; ++i)); do
    page /readyz
    grep -q "rail0 ready" "$work/out" && return
    pause 0.05
  done
  bad "the switch never became ready"
}

start_daemon
ready
page /healthz
holds "$work/out" "200 OK" alive

# ---- a job
cp "$root/examples/operate/job.toml" "$work/job.toml"
ctl plan "$work/job.toml"
ctl submit "$work/job.toml"
holds "$work/out" "job train submitted" "request"
ctl jobs
holds "$work/out" train
ctl status --format json
holds "$work/out" '"leading":true' '"switch":"rail0"' '"ranks":4' '"attached":0'

# ---- circuits move
ctl emulate-ranks "$work/job.toml" --seconds 4 --pause 20 --run 5 --format json
checks=$((checks + 1))
[[ $(number rail "$work/out") -ge 10 && $(number failed_operations "$work/out") == 0 ]] ||
  { bad "too few operations on rails:"; sed 's/^/    /' "$work/out"; }
ctl circuits --format json
holds "$work/out" '"intended":true,"applied":true' '"job":"train"' '"power_dbm":-'
page /metrics
holds "$work/out" 'photonrail_grants_total{path="rail"}' 'photonrail_switch_seconds_bucket{switch="rail0"' \
  'photonrail_journal_sync_seconds_count'
checks=$((checks + 1))
grep -q '^photonrail_intents_done_total{switch="rail0"} [1-9]' "$work/out" || bad "no switch in the metrics"

# ---- killed under load: what was acknowledged is still there, ranks come back by themselves
"$photonrail" ctl --timeout 20 emulate-ranks "$work/job.toml" --seconds 14 --pause 20 --run 5 --format json \
  >"$work/ranks" 2>&1 </dev/null &
ranks_pid=$!
pause 3
ctl drain rail0:9 --reason 'test: fibre is dirty'
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null || true
# The same port again: the ranks know no other.
sed -i "s/^address = \"127.0.0.1:0\"/address = \"$PHOTONRAIL_ADDRESS\"/;t" "$work/d.toml"
sed -i "/^\[metrics\]/,/^\[/s/^address = .*/address = \"127.0.0.1:0\"/" "$work/d.toml"
start_daemon
ready
wait "$ranks_pid" || { bad "the ranks did not come back:"; sed 's/^/    /' "$work/ranks"; }
ranks_pid=''
checks=$((checks + 1))
[[ $(number attached "$work/ranks") == 4 && $(number rail "$work/ranks") -ge 10 ]] ||
  { bad "after the kill:"; sed 's/^/    /' "$work/ranks"; tail -5 "$work/log"; }
ctl status
holds "$work/out" "epoch 2" train "9 (" dirty

# ---- who may do what
refused 4 "viewer may not call" -- ctl --as viewer drain rail0:1
refused 4 "scheduler may not call" -- ctl --as scheduler maintenance rail0
refused 4 "rank may not call" -- ctl --as job-train status
refused 5 -- ctl --certificates "$work/strangers" --timeout 3 status
refused 3 "no switch" -- ctl drain rail7:1
sed 's/^epoch = 1/epoch = 2/; s/^job = .*/job = "thief"/' "$work/job.toml" >"$work/thief.toml"
run ctl submit "$work/thief.toml"
checks=$((checks + 1))
((status != 0)) || bad "two jobs were given the same ports"

# ---- the audit shows it, and its chain holds
ctl history
holds "$work/out" train rail0 "permission denied" "viewer may not call"
ctl history --containing dirty --format json
holds "$work/out" "spiffe://trial/role/operator" dirty
accepted audit verify "$work/state/audit.log"
ctl probe rail0
holds "$work/out" Photonrail EMU-16x16 circuits
accepted ctl probe "127.0.0.1:$scpi" --dialect polatis-scpi
holds "$work/out" "16 inputs, 16 outputs"
ctl bundle "$work/bundle"
holds "$work/bundle/status.json" '"switch":"rail0"'
checks=$((checks + 1))
! grep -rqi "private key" "$work/bundle" "$work/log" || bad "a key is in the bundle or the log"

# ---- another authority, without a restart: who was signed by the old one is cut off, also in the middle of a stream
cp -r "$work/certs" "$work/old"
"$photonrail" ctl --certificates "$work/old" emulate-ranks "$work/job.toml" --seconds 20 \
  >"$work/ranks" 2>&1 </dev/null &
ranks_pid=$!
attached() {
  page /metrics
  grep -q '^photonrail_ranks_attached 4' "$work/out"
}
for ((i = 0; i < 400; ++i)); do if attached; then break; fi; pause 0.05; done
rm "$work/certs/ca.crt" "$work/certs/ca.key"
accepted ctl make-certificates "$work/certs" --job train
within "$work/log" "not trusted any more" "$daemon_pid"
for ((i = 0; i < 100; ++i)); do
  run ctl --timeout 2 jobs
  ((status == 0)) && break
  pause 0.1
done
ctl jobs
refused 5 -- ctl --certificates "$work/old" --timeout 3 jobs
kill -9 "$ranks_pid"
wait "$ranks_pid" 2>/dev/null || true
ranks_pid=''
ctl end train
holds "$work/out" "job train ended"

# ---- down in order; circuits stay
kill -HUP "$daemon_pid"
within "$work/log" '"event":"reloaded"' "$daemon_pid"
kill -TERM "$daemon_pid"
ended=0
wait "$daemon_pid" || ended=$?
checks=$((checks + 1))
((ended == 0)) || { bad "after TERM: status $ended"; tail -5 "$work/log"; }
daemon_pid=''
finish
