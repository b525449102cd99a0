#!/usr/bin/env bash
# The process's peak resident memory rises over the step by what the memory plan says, within 5 %,
# on each of one and two ranks: Eigen's packing buffers and MPI's are inside the difference.
#   resident_memory_test.sh PROGRAM
set -euo pipefail
program=$1
mpirun=$(cd "$(dirname "$0")" && pwd)/../../scripts/mpirun.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name, ranks, width, depth, heads, patch, micro-batch, accumulation, overlap, bucket_mib
while read -r name ranks width depth heads patch batch accumulation overlap bucket; do
  cat > "$work/$name.json" <<JSON
{"schema": "paceline/experiment/1", "framework": "paceline",
 "model": {"id": "$name", "image_size": 32, "patch_size": $patch, "width": $width, "depth": $depth,
           "heads": $heads, "mlp_hidden": $((4 * width)), "classes": 10},
 "training": {"micro_batch": $batch, "accumulation_steps": $accumulation},
 "parallel": {"world_size": $ranks, "overlap": $overlap, "bucket_mib": $bucket},
 "run": {"steps": 2, "warmup_steps": 2}}
JSON
  launch=()
  [ "$ranks" -eq 1 ] || launch=("$mpirun" -n "$ranks")
  "${launch[@]}" "$program" train "$work/$name.json" --json "$work/$name.report.json" \
    > /dev/null < /dev/null
done <<'LIST'
one_small 1 64 4 4 8 16 1 true 25
one_wide 1 128 4 4 8 32 1 true 25
one_long 1 96 3 3 4 16 2 true 25
two_small 2 64 4 4 8 16 1 true 25
two_overlap 2 128 4 4 8 16 1 true 1
two_large 2 192 4 3 8 8 2 false 25
LIST

python3 - "$work" <<'PYTHON'
import glob, json, sys

worst = 0.0
reports = sorted(glob.glob(sys.argv[1] + "/*.report.json"))
assert len(reports) == 6
for path in reports:
    for rank in json.load(open(path))["ranks"]:
        planned = rank["peak_memory_bytes"]["total"]
        error = rank["resident_rise_bytes"] / planned - 1.0
        print(f"{path.split('/')[-1]} rank {rank['rank']}: {planned} planned, {error:+.2%}")
        worst = max(worst, abs(error))
sys.exit(worst > 0.05)
PYTHON
