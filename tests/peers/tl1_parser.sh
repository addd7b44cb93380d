#!/usr/bin/env bash
# usage: tl1_parser.sh TRANSCRIPT-PROGRAM
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
"$1" | python3 "$(dirname "$0")/tl1_parser.py"
