#!/usr/bin/env bash
# Grants of a running photonraild under load: RANKS ranks (default 1,024), each on a stream of its own, in rings of 8,
# 1,000 gangs a second for SECONDS (default 30), embedded journal, emulated switch, all on loopback.
# Promised: from receipt of the last announcement to the last grant handed to its socket, median under 0.3 ms and p99
# under 2 ms above device time. Every operation is announced and granted by itself here (batches = false): batches would
# leave out most of the messages. Nothing switches after the first operation of a ring, so there is no device time.
# Figures come from the daemon's own histogram; the client's latencies stand beside them (two processes on one machine).
# usage: bench/daemon.sh BINARY [RANKS [SECONDS]]      status 1 when a promise is missed
set -euo pipefail

photonrail=${1:?usage: bench/daemon.sh BINARY [RANKS [SECONDS]]}
ranks=${2:-1024} seconds=${3:-30}
daemon=$(dirname "$photonrail")/photonraild
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
ports=$((ranks * 2)) pause_ms=$((ranks * 85 / 1024))

await() {
  local i
  for ((i = 0; i < 600; ++i)); do
    grep -q "$2" "$1" && return
    sleep 0.05
  done
  echo "bench: '$2' did not come:" >&2
  tail -n 5 "$1" >&2
  exit 1
}

: >"$work/ocs"
"$photonrail" emulate-ocs --listen scpi=127.0.0.1:0 --size "${ports}x$ports" --settle '1 ms' >"$work/ocs" 2>&1 &
pids+=($!)
await "$work/ocs" ready
cat >"$work/d.toml" <<END
batches = false
[listen]
address = "127.0.0.1:0"
plaintext = true
[state]
directory = "state"
[metrics]
address = "127.0.0.1:0"
[[switch]]
name = "rail0"
dialect = "polatis-scpi"
address = "127.0.0.1:$(sed -n 's/^polatis-scpi .*:\([0-9]*\)$/\1/p' "$work/ocs")"
END
cat >"$work/job.toml" <<END
job = "load"
ports_per_rank = 2
ports = ["rail0:0..$((ports - 1))"]
END
"$daemon" "$work/d.toml" 2>"$work/log" &
pids+=($!)
await "$work/log" '"event":"started"'
address=127.0.0.1:$(sed -n 's/.*"event":"started".*"port":\([0-9]*\).*/\1/p' "$work/log")
metrics=$(sed -n 's/.*"metrics_port":\([0-9]*\).*/\1/p' "$work/log")
page() {
  exec 7<>"/dev/tcp/127.0.0.1/$metrics"
  printf 'GET %s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&7
  cat <&7
  exec 7>&-
}
until page /readyz | grep -q "rail0 ready"; do sleep 0.1; done
"$photonrail" ctl --plaintext --address "$address" submit "$work/job.toml"
"$photonrail" ctl --plaintext --address "$address" emulate-ranks "$work/job.toml" --gang 8 \
  --seconds "$((seconds + 15))" --run 5 --pause "$pause_ms" --format json >"$work/ranks" &
load=$!
sleep 12  # joining, and the first operation of every ring, which switches
page /metrics >"$work/before"
sleep "$seconds"
page /metrics >"$work/after"
memory=$(awk '/^VmRSS/ { print $2 }' "/proc/${pids[1]}/status")
wait "$load" || true
awk -v seconds="$seconds" -v ranks="$ranks" -v memory="$memory" '
  /^photonrail_grant_latency_seconds_bucket{cause="announcement"/ {
    le = $1; sub(/.*le="/, "", le); sub(/".*/, "", le)
    if (FNR == NR) before[le] = $2; else { bound[++n] = le; count[n] = $2 - before[le] }
  }
  /^photonrail_grants_total{path="rail"}/ { if (FNR == NR) first = $2; else grants = $2 - first }
  /^photonrail_rank_streams / { streams = $2 }
  function quantile(q,   i) { for (i = 1; i <= n; ++i) if (count[i] >= q * count[n]) return bound[i] }
  END {
    if (!n || !count[n]) { print "no grants"; exit 1 }
    printf "%d streams, %d grants in %d s: %.0f gangs a second\n", streams, grants, seconds, count[n] / seconds
    printf "daemon, receipt of the last announcement to the last grant on its socket: median <= %s s, p99 <= %s s\n",
      quantile(0.5), quantile(0.99)
    printf "daemon: %d KiB resident, %.1f KiB a rank\n", memory, memory / ranks
    exit !(quantile(0.5) + 0 <= 0.0003 && quantile(0.99) + 0 <= 0.002)
  }' "$work/before" "$work/after" && status=0 || status=1
printf 'client: '
cat "$work/ranks"
exit "$status"
