#!/usr/bin/env bash
# One short calibration on two ranks covers every kernel class at every number of active ranks,
# point-to-point messages, reductions and whole collectives from small to large, and host issue.
# `make-profile` accepts it.
#   calibrate_test.sh PROGRAM PACELINE
set -euo pipefail
program=$1
paceline=$2
mpirun=$(cd "$(dirname "$0")" && pwd)/../../scripts/mpirun.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$mpirun" -n 2 "$program" calibrate --seconds 4 --out "$work/measurements.json" > "$work/stdout"
grep -q "wrote $work/measurements.json; next: paceline make-profile" "$work/stdout"
python3 - "$work/measurements.json" <<'PYTHON'
import json, os, sys

measured = json.load(open(sys.argv[1]))
assert [level["active_ranks"] for level in measured["levels"]] == [1, 2]
needed = {
    "products": ["matmul_nt", "matmul_nn", "matmul_tn"],
    "norms": ["layer_norm", "layer_norm_gradient"],
    "attention": ["attention", "attention_gradient"],
    "elementwise": ["gelu", "gelu_gradient", "add", "bias_gradient", "cross_entropy",
                    "cross_entropy_gradient"],
    "optimizer": ["adamw", "sgd", "gradient_norm", "clip_coefficient", "scale"],
    "copies": ["load_batch", "patchify", "embed_tokens", "embed_tokens_gradient",
               "select_class_token", "select_class_token_gradient",
               "mean_pool", "mean_pool_gradient"],
}
for level in measured["levels"]:
    shapes = {}
    for kernel in level["kernels"]:
        shapes.setdefault(kernel["class"], []).append(kernel)
        assert kernel["time_us"] > 0 and kernel["samples"] >= 1
    for group, classes in needed.items():
        for kernel_class in classes:
            found = len(shapes.get(kernel_class, []))
            fewest = 3 if kernel_class == "clip_coefficient" else 5  # numbers of buckets
            assert found >= fewest, f"{group}: {found} shapes of {kernel_class}"
for what, fewest in (("exchanges", 9), ("reductions", 9), ("collectives", 8)):
    sizes = [entry["bytes"] for entry in measured[what]]
    assert len(sizes) >= fewest and min(sizes) <= 1024 and max(sizes) >= 8 << 20, what
assert measured["host_issue_us"] > 0
assert measured["cores"] >= min(2, os.cpu_count())
PYTHON

"$paceline" make-profile "$work/measurements.json" --out "$work/this_machine.json" > "$work/fits"
grep -q "clip_coefficient" "$work/fits"
