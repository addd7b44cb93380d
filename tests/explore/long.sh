#!/usr/bin/env bash
# The long exploration. Stops at the first violation.
# usage: tests/explore/long.sh EXPLORE [JOBS]
set -euo pipefail
explore=${1:?usage: tests/explore/long.sh EXPLORE [JOBS]}
jobs=${2:-$(nproc)}

run() { "$explore" --quiet --jobs "$jobs" "$@"; }

# Every program of up to four operations, every interleaving.
for operations in 1 2 3 4; do
  for rule in gang batches mispredicted; do run --operations "$operations" --rule "$rule"; done
done
for operations in 1 2 3; do
  for rule in gang batches mispredicted; do
    run --fabric ring --operations "$operations" --rule "$rule" --timer --ahead
  done
done

# One fault of each kind by itself, and the timer at every moment: up to three operations; then all in one run: two.
for fault in crash loss repeat fail restart; do
  for rule in gang batches mispredicted; do run --operations 3 --rule "$rule" "--$fault" 1 --timer --ahead; done
done
for rule in gang batches mispredicted; do run --operations 2 --rule "$rule" --crash 1 --loss 1 --repeat 1 --timer; done

# Larger ones, and more faults, by random runs.
for fabric in grid ring; do
  for operations in 4 5 6; do
    for rule in gang batches mispredicted; do
      run --fabric "$fabric" --operations "$operations" --rule "$rule" --crash 1 --loss 1 --repeat 1 --timer --ahead \
        --sample 1000 --walks 2000
      run --fabric "$fabric" --operations "$operations" --rule "$rule" --crash 2 --loss 2 --repeat 2 --restart 2 \
        --fail 2 --sample 1000 --walks 2000 --seed 2
    done
  done
done
