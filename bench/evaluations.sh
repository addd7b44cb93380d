#!/usr/bin/env bash
# Inference evaluations a second on one core: decode steps (promised: 1,000,000) and whole requests (200,000), beside
# AIConfigurator's fast path on the same shuffled list in the same run. The peer comes from PyPI into a virtual
# environment in the cache; without a network or Python 3.11 to 3.13 it is left out, with the reason.
# usage: bench/evaluations.sh BINARY      status 1 when a rate is missed
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${1:?usage: bench/evaluations.sh BINARY}
build=$(cd "$(dirname "$binary")/.." && pwd)
peer=aiconfigurator==0.12.0  # its successor on PyPI is an empty package
venv=${XDG_CACHE_HOME:-~/.cache}/photonrail/peer-$peer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --build "$build" --target bench_evaluations >/dev/null
program=$build/bin/bench_evaluations

# Says why there is no peer, or leaves one in $venv.
install_peer() {
  [[ -x $venv/bin/python ]] && "$venv/bin/python" -c 'import aiconfigurator_core' 2>/dev/null && return
  rm -rf "$venv"
  python3 -m venv "$venv" >"$work/peer.log" 2>&1 ||
    { echo "python3 has no venv: $(tail -n 1 "$work/peer.log")"; return 1; }
  "$venv/bin/pip" install -q --disable-pip-version-check "$peer" >"$work/peer.log" 2>&1 ||
    { rm -rf "$venv"; echo "cannot install $peer: $(tail -n 1 "$work/peer.log")"; return 1; }
}

status=0
"$program" | tee "$work/ours" || status=$?
if reason=$(install_peer); then
  "$program" --points 200000 --csv >"$work/list.csv"
  "$venv/bin/python" "$here/evaluations_peer.py" "$work/list.csv" >"$work/peer" 2>"$work/peer.log" ||
    { tail -n 3 "$work/peer.log" >&2; echo "peer: $peer failed; see above"; exit "$status"; }
  # The two programs print their rates in the same order.
  paste <(sed -n 's/^\(.\{28\}\) *\([0-9]*\) .*/\2/p' "$work/ours") "$work/peer" | awk -v peer="$peer" '
    { printf "%-28s %12.0f /s   by %s, ours is %.0f times that\n",
         $2 == "decode" ? "decode steps" : "prefill + decode integral",
             $3, peer, $1 / $3 }'
else
  echo "peer: left out, $reason"
fi
exit "$status"
