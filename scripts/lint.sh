#!/usr/bin/env bash
# Format, static analysis and folder dependencies. Needs a configured build for its compile commands.
#   scripts/lint.sh [--deep] [BUILD_DIRECTORY]
# The path-sensitive analyser follows at most 20,000 states of a function; --deep lets it follow its
# own default of 225,000, which takes three times as long.
set -euo pipefail
cd "$(dirname "$0")/.."
analyser_limits=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang
  --extra-arg=max-nodes=20000)
if [ "${1:-}" = --deep ]; then
  analyser_limits=()
  shift
fi
build=${1:-build/ci}

python3 scripts/check_dependencies.py
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${sources[@]}"
echo "format: ${#sources[@]} files"

mapfile -t units < <(git ls-files 'core/*.cpp' 'models/*.cpp' 'hardware_profiles/*.cpp' 'sim/*.cpp' \
  'runtime/*.cpp' 'validate/*.cpp' 'cli/*.cpp' | grep -v -e mpi_absent.cpp -e host_cpu_proc.cpp)
printf '%s\n' "${units[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet "${analyser_limits[@]}" 2> >(grep -v -e 'warnings generated' \
    -e 'Suppressed' -e 'Use -header-filter' -e '^$' >&2)
echo "clang-tidy: ${#units[@]} files"
