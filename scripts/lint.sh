#!/usr/bin/env bash
# Format, static analysis and folder dependencies. Needs a configured build for its compile commands.
#   scripts/lint.sh [BUILD_DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci}

python3 scripts/check_dependencies.py
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${sources[@]}"
echo "format: ${#sources[@]} files"

mapfile -t units < <(git ls-files 'core/*.cpp' 'models/*.cpp' 'hardware_profiles/*.cpp' 'sim/*.cpp' \
  'runtime/*.cpp' 'validate/*.cpp' 'cli/*.cpp' | grep -v -e mpi_absent.cpp -e host_cpu_proc.cpp)
printf '%s\n' "${units[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet 2> >(grep -v -e 'warnings generated' \
    -e 'Suppressed' -e 'Use -header-filter' -e '^$' >&2)
echo "clang-tidy: ${#units[@]} files"
