#!/usr/bin/env bash
# Test bed 1: predicted against measured on this machine's CPU, one thread a rank. Calibrates once,
# predicts every configuration, then really runs each five times in fresh processes, interleaved, and
# prints the table. None of the configurations is used in calibration. About 4 minutes on 2 cores.
#   validate/testbeds/cpu_ranks.sh [OUTPUT_DIRECTORY] [ROUNDS]
# The programs are found in PATH, else in build/release or build/ci.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/testbeds/cpu_ranks}
rounds=${2:-5}
for build in build/ci build/release; do
  [ -x "$build/bin/paceline-rt" ] && PATH="$PATH:$PWD/$build/bin"
done
command -v paceline-rt >/dev/null || { echo "build first: scripts/quickstart.sh" >&2; exit 1; }
[ "$(nproc)" -ge 2 ] || { echo "this test bed needs two cores" >&2; exit 1; }

rm -rf "$out"
mkdir -p "$out/profiles/clusters" "$out/runs"
export PACELINE_PROFILES="$PWD/$out/profiles"

# name, ranks, width, depth, heads, patch, micro-batch, accumulation, overlap, bucket_mib
configurations() {
  cat <<'LIST'
w128_d2           1 128 2 4 8 16     1 true  25
w128_d6           1 128 6 4 8 16     1 true  25
w192_d4_65tokens  1 192 4 3 4 8      1 true  25
w320_d3           1 320 3 5 8 8      1 true  25
w64_d8_65tokens   1 64  8 4 4 4      1 true  25
w256_accumulate2  1 256 2 8 4 8      2 true  25
w96_batch64       1 96  4 3 8 64     1 true  25
r2_w128           2 128 4 4 8 8      1 false 25
r2_w256           2 256 4 4 8 8      1 false 25
r2_w192_overlap   2 192 4 3 4 4      1 true  25
r2_w320_buckets   2 320 3 5 8 8      1 true  1
r2_w128_accum4    2 128 4 4 8 8      4 true  25
r2_uneven         2 96  6 3 4 [8,4]  1 false 25
r2_w384_buckets   2 384 2 6 8 4      1 false 1
LIST
}

while read -r name ranks width depth heads patch batch accumulation overlap bucket; do
  cat > "$out/runs/$name.experiment.json" <<JSON
{"schema": "paceline/experiment/1", "cluster": "this_machine", "framework": "paceline",
 "model": {"id": "$name", "image_size": 32, "patch_size": $patch, "width": $width, "depth": $depth,
           "heads": $heads, "mlp_hidden": $((4 * width)), "classes": 10},
 "training": {"micro_batch": $batch, "accumulation_steps": $accumulation},
 "parallel": {"world_size": $ranks, "overlap": $overlap, "bucket_mib": $bucket},
 "run": {"steps": 30, "warmup_steps": 5}}
JSON
done < <(configurations)

echo "calibrating (50 s)" >&2
./scripts/mpirun.sh -n 2 paceline-rt calibrate --seconds 50 --out "$out/measurements.json" >&2
paceline make-profile "$out/measurements.json" \
  --out "$out/profiles/clusters/this_machine.json" > "$out/profile.txt"

while read -r name _; do
  paceline predict "$out/runs/$name.experiment.json" --json "$out/runs/$name.predicted.json" \
    --quiet > /dev/null
done < <(configurations)

for round in $(seq "$rounds"); do
  echo "round $round of $rounds" >&2
  while read -r name ranks _; do
    launch=()
    [ "$ranks" -eq 1 ] || launch=(./scripts/mpirun.sh -n "$ranks")
    "${launch[@]}" paceline-rt train "$out/runs/$name.experiment.json" \
      --json "$out/runs/$name.measured.$round.json" > /dev/null < /dev/null
  done < <(configurations)
done
paceline scoreboard --runs "$out/runs"
