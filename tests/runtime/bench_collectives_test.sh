#!/usr/bin/env bash
# `bench collectives` on two ranks: nccl-tests' thirteen columns, right results, and busbw that is
# algbw × 2(n−1)/n = algbw for an all-reduce of two, algbw for sendrecv.
#   bench_collectives_test.sh PROGRAM
set -euo pipefail
program=$1
mpirun=$(cd "$(dirname "$0")" && pwd)/../../scripts/mpirun.sh

for collective in all_reduce sendrecv; do
  "$mpirun" -n 2 "$program" bench collectives --collective $collective -b 8 -e 4K -f 8 -n 3 -w 1 |
    awk -v collective=$collective '
      /^#  *size  *count  *type  *redop  *root  *time  *algbw  *busbw #wrong  *time/ { header = 1 }
      /^# Out of bounds values : 0 OK$/ { right = 1 }
      /^# Avg bus bandwidth    : [0-9.e-]+$/ { mean = 1 }
      /^#/ { next }
      {
        rows++
        if ($1 != 4 * $2 || $3 != "float") { print "sizes: " $0; exit 1 }
        if ($4 != (collective == "all_reduce" ? "sum" : "none")) { print "redop: " $0; exit 1 }
        if (NF != 13) { print NF " columns: " $0; exit 1 }
        if ($7 != $8) { print "busbw: " $0; exit 1 }
        if ($9 != 0) { print "wrong: " $0; exit 1 }
      }
      END {
        # 8, 64, 512, 4096 bytes
        if (rows != 4 || !header || !right || !mean) { print rows, header, right, mean; exit 1 }
      }'
done
