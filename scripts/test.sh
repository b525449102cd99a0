#!/usr/bin/env bash
# The test command: installs what is missing, builds everything, runs every test that needs no GPU,
# and the linters. About 30 minutes on 2 cores.
# Left to longer scripts: scripts/quickstart.sh (the whole job), validate/testbeds/cpu_ranks.sh
# (predicted against measured on this machine), scripts/lint.sh --deep (the analyser at full depth),
# the asan preset (cmake --workflow --preset asan).
set -euo pipefail
cd "$(dirname "$0")/.."

./scripts/install.sh test
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

cmake --preset ci -Wno-dev
cmake --build build/ci
./scripts/lint.sh build/ci
ctest --test-dir build/ci --output-on-failure -j "$(nproc)"
