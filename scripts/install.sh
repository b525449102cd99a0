#!/usr/bin/env bash
# Installs what Paceline needs on Debian 12 (written for Ubuntu 24.04 too; untested there).
#   scripts/install.sh run     build and run the programs
#   scripts/install.sh test    the same, and the test command's tools
# Does nothing if all packages are there; otherwise needs root or sudo.
set -euo pipefail

run_packages=(
  g++ cmake ninja-build ccache git
  libopenmpi-dev openmpi-bin libeigen3-dev libfmt-dev nlohmann-json3-dev
  libboost-dev libboost-program-options-dev python3-sklearn
)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev simgrid procps clang-format-19 clang-tidy-19 python3-jsonschema)

case "${1:-}" in
  run) packages=("${run_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${test_packages[@]}") ;;
  *) echo "usage: scripts/install.sh run|test" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "missing packages: ${missing[*]}" >&2
    echo "install them as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null
