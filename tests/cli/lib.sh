# shellcheck shell=bash
# Helpers of the command line tests; sourced. Sets: photonrail (the program), root (the checkout), work (an empty
# folder that goes away at the end).
set -euo pipefail
export LC_ALL=C NO_COLOR=1

photonrail=${1:?usage: $0 PHOTONRAIL ROOT [ARGUMENT...]}
# shellcheck disable=SC2034  # used by the scripts that source this
root=${2:?usage: $0 PHOTONRAIL ROOT [ARGUMENT...]}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0 failures=0

bad() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# run ARGUMENT...: runs the program; leaves status, and the files $work/out and $work/err.
run() {
  status=0
  "$photonrail" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# holds FILE FRAGMENT...: every fragment is somewhere in the file.
holds() {
  local file=$1 fragment
  shift
  for fragment in "$@"; do
    checks=$((checks + 1))
    grep -qF -- "$fragment" "$file" || { bad "'$fragment' is missing in:"; sed 's/^/    /' "$file"; }
  done
}

# accepted ARGUMENT...: the program ends with status 0 and says nothing on standard error.
accepted() {
  run "$@"
  checks=$((checks + 1))
  if ((status != 0)) || [[ -s $work/err ]]; then
    bad "photonrail $*: status $status"
    sed 's/^/    /' "$work/err"
  fi
}

# refused STATUS FRAGMENT... -- ARGUMENT...: the program ends with that status, with the fragments on standard error and
# nothing on standard output.
refused() {
  local wanted=$1 fragments=()
  shift
  while [[ $1 != -- ]]; do fragments+=("$1"); shift; done
  shift
  run "$@"
  checks=$((checks + 1))
  ((status == wanted)) || { bad "photonrail $*: status $status, not $wanted"; sed 's/^/    /' "$work/err"; }
  [[ ! -s $work/out ]] || bad "photonrail $*: wrote to standard output"
  holds "$work/err" "${fragments[@]}"
}

finish() {
  printf '%s checks, %s failed\n' "$checks" "$failures"
  ((checks > 0 && failures == 0))
}
