#!/usr/bin/env bash
# mpirun for ranks of this machine: allows more ranks than cores, and root where root runs it.
# One thread a rank must not be bound to one core with others: ranks share what they find.
# A rank that a signal ended makes mpirun end with 128 + the signal; here the run has then failed: 1.
set -euo pipefail
export OMPI_MCA_btl_base_warn_component_unused=0
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
mpirun --oversubscribe "$@" <&0 &
launcher=$!
trap 'kill -TERM "$launcher" 2>/dev/null' TERM INT HUP
code=0
wait "$launcher" || code=$?
while kill -0 "$launcher" 2>/dev/null; do # a trapped signal ends `wait` early
  code=0
  wait "$launcher" || code=$?
done
[ "$code" -le 128 ] || code=1
exit "$code"
