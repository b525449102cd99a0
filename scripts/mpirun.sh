#!/usr/bin/env bash
# mpirun for ranks of this machine: allows more ranks than cores, and root where root runs it.
# One thread a rank must not be bound to one core with others: ranks share what they find.
set -euo pipefail
export OMPI_MCA_btl_base_warn_component_unused=0
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
exec mpirun --oversubscribe "$@"
