#!/usr/bin/env bash
# Installs what Paceline needs on Debian 12 (written for Ubuntu 24.04 too; untested there).
#   scripts/install.sh run     build and run the programs
#   scripts/install.sh html    what HTML reports need: plotly.js, from Python's package of that name
#   scripts/install.sh test    all of these, and the test command's tools
# Does nothing if all packages are there; otherwise needs root or sudo.
set -euo pipefail

run_packages=(
  g++ cmake ninja-build ccache git
  libopenmpi-dev openmpi-bin libeigen3-dev libfmt-dev nlohmann-json3-dev
  libboost-dev libboost-program-options-dev python3-sklearn
)
html_packages=(python3-pip)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev simgrid procps clang-format-19
  clang-tidy-19 python3-jsonschema libhwloc-dev chromium)

case "${1:-}" in
  run) packages=("${run_packages[@]}") ;;
  html) packages=("${html_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${html_packages[@]}" "${test_packages[@]}") ;;
  *) echo "usage: scripts/install.sh run|html|test" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done

# plotly.min.js and its licence, into the user's data directory, where paceline looks for them.
get_plotly() {
  local target=${XDG_DATA_HOME:-$HOME/.local/share}/paceline/plotly
  [ -f "$target/plotly.min.js" ] && return
  echo "getting plotly.js into $target" >&2
  local wheels
  wheels=$(mktemp -d)
  python3 -m pip download --quiet --no-deps --dest "$wheels" plotly==7.1.0
  mkdir -p "$target"
  python3 - "$wheels" "$target" <<'PYTHON'
import pathlib, sys, zipfile
wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
target = pathlib.Path(sys.argv[2])
licence = next(name for name in wheel.namelist() if name.endswith("/LICENSE.txt"))
(target / "plotly.LICENSE.txt").write_bytes(wheel.read(licence))
(target / "plotly.min.js").write_bytes(wheel.read("plotly/package_data/plotly.min.js"))
PYTHON
  rm -r "$wheels"
}
finish() {
  [ "$1" = run ] || get_plotly
  exit 0
}
[ ${#missing[@]} -eq 0 ] && finish "$1"

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
finish "$1"
