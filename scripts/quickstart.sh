#!/usr/bin/env bash
# Paceline's whole job on this machine's CPU: install, build, calibrate, predict, train for real on
# 1 and on 2 ranks, compare. Under 10 minutes on 2 cores. Results in build/quickstart.
# Tested on a fresh Debian 12 as root; written for Ubuntu 24.04 and sudo too, untested there.
set -euo pipefail
cd "$(dirname "$0")/.."

out=build/quickstart
step() { printf '\n== %s\n' "$*"; }

step "1/6 install and build"
./scripts/install.sh run
cmake --preset release -Wno-dev >/dev/null
cmake --build build/release --target paceline paceline-rt | tail -n 1
export PATH="$PWD/build/release/bin:$PATH"
mkdir -p "$out/profiles/clusters"
export PACELINE_PROFILES="$PWD/$out/profiles"

step "2/6 images: the handwritten digits of scikit-learn"
/usr/bin/python3 scripts/make_digits.py --out "$out/digits"

step "3/6 calibrate: how fast this machine is"
./scripts/mpirun.sh -n 2 paceline-rt calibrate --out "$out/measurements.json"
paceline make-profile "$out/measurements.json" --out "$out/profiles/clusters/this_machine.json"

for ranks in 1 2; do
  step "$((3 + ranks))/6 $ranks rank(s): predict, then train for real"
  experiment="docs/examples/digits_$ranks.json"
  paceline predict "$experiment" --json "$out/predicted_$ranks.json" --brief
  launch=()
  [ "$ranks" -eq 1 ] || launch=(./scripts/mpirun.sh -n "$ranks")
  "${launch[@]}" paceline-rt train "$experiment" --data "$out/digits" \
    --json "$out/measured_$ranks.json"
done

step "6/6 how far off was it?"
for ranks in 1 2; do
  paceline compare "$out/predicted_$ranks.json" "$out/measured_$ranks.json"
done
paceline compare "$out/predicted_2.json" "$out/measured_2.json" --html "$out/report.html" > /dev/null
echo "reports: $out/*.json; as a page of charts: $out/report.html"
