# shellcheck shell=bash
# Helpers of the tests with peers; sourced. Sets photonrail, peer_driver (the programs), here (this folder), cache (kept
# between runs, outside of the clone) and work (an empty folder that goes away at the end).
set -euo pipefail
export LC_ALL=C NO_COLOR=1

photonrail=${1:?usage: $0 PHOTONRAIL PEER_DRIVER}
peer_driver=${2:?usage: $0 PHOTONRAIL PEER_DRIVER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/photonrail/peers
work=$(mktemp -d)
started=()
export photonrail peer_driver here work

# Only what was started here is ended, by its number.
clean_up() {
  local pid
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

skip() { printf 'skipped: %s\n' "$*"; exit 77; }
die() { printf 'FAILED: %s\n' "$*"; tail -n 40 "$work"/*.log 2>/dev/null || true; exit 1; }

# background NAME COMMAND...: runs until the end of the test; its output is $work/NAME.log.
background() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 </dev/null &
  started+=($!)
}

need() {
  local tool
  for tool in "$@"; do
    [[ -x $tool ]] || command -v "$tool" >/dev/null || skip "$tool is not there; ./dev test installs it"
  done
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# wait_for_port PORT: until something listens there.
wait_for_port() {
  local i
  for ((i = 0; i < 200; ++i)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    sleep 0.05
  done
  die "nothing listens on port $1"
}

# use_venv NAME PACKAGE...: python is that of a virtual environment with exactly these packages; made once.
use_venv() {
  local name=$1 mark
  shift
  python=$cache/$name/bin/python
  mark="$cache/$name/packages: $*"
  [[ -e $cache/$name/packages && $(cat "$cache/$name/packages") == "$mark" ]] && return 0
  mkdir -p "$cache"
  exec 9>"$cache/$name.lock"
  flock 9
  if [[ ! -e $cache/$name/packages || $(cat "$cache/$name/packages") != "$mark" ]]; then
    rm -rf "${cache:?}/$name"
    { python3 -m venv "$cache/$name" && "$python" -m pip -q install --disable-pip-version-check "$@"; } \
      >"$cache/$name.log" 2>&1 || skip "cannot install $* ($(tail -n 1 "$cache/$name.log"))"
    printf '%s' "$mark" >"$cache/$name/packages"
  fi
  exec 9>&-
}
clients_venv() {
  use_venv clients pygnmi==0.8.15 ncclient==0.7.1 pyvisa==1.16.2 pyvisa-py==0.8.1 yangson==1.7.9 scpipy==1.5.1
}

# go_tools PACKAGE@VERSION...: programs of these packages in $cache/bin; built once.
go_tools() {
  local tool program
  for tool in "$@"; do
    program=${tool%@*} program=${program##*/}
    [[ -x $cache/bin/$program ]] && continue
    command -v go >/dev/null || skip "no Go to build $program with"
    mkdir -p "$cache"
    GOBIN=$cache/bin go install "$tool" >"$cache/$program.log" 2>&1 ||
      skip "cannot build $program ($(tail -n 1 "$cache/$program.log"))"
  done
}

# make_certificates: an authority, a server's and a client's certificate in $work.
make_certificates() {
  (
    cd "$work"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key \
      -out ca.crt
    local name
    for name in server client; do
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr
      openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out $name.crt \
        -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1')
    done
  ) >"$work/certificates.log" 2>&1 || die "cannot make certificates"
}
