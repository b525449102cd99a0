#!/usr/bin/env bash
# Does it learn? A small ViT on scikit-learn's digits must reach 95 % held-out accuracy on one and on
# two ranks, each within 3 minutes of training on 2 cores; with shuffled labels it must stay below
# 15 %, near chance, however well it knows the training images. About a minute on 2 cores.
#   validate/testbeds/digits.sh [OUTPUT_DIRECTORY] [EPOCHS]
# The program is found in PATH, else in build/release or build/ci. Exit 77: scikit-learn is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/testbeds/digits}
epochs=${2:-40}
for build in build/ci build/release; do
  [ -x "$build/bin/paceline-rt" ] && PATH="$PATH:$PWD/$build/bin"
done
command -v paceline-rt >/dev/null || { echo "build first: scripts/quickstart.sh" >&2; exit 1; }
python=/usr/bin/python3
if ! "$python" -c 'import sklearn' 2>/dev/null; then
  echo "scikit-learn is missing (on Debian: apt-get install python3-sklearn)"
  exit 77
fi

rm -rf "$out"
mkdir -p "$out"
"$python" scripts/make_digits.py --out "$out/digits" > /dev/null
"$python" scripts/make_digits.py --out "$out/shuffled" --shuffle-labels 7 > /dev/null

# name, ranks, data
while read -r name ranks data; do
  sed "s/\"epochs\": [0-9]*/\"epochs\": $epochs/" "docs/examples/digits_$ranks.json" \
    > "$out/$name.experiment.json"
  launch=()
  [ "$ranks" -eq 1 ] || launch=(./scripts/mpirun.sh -n "$ranks")
  "${launch[@]}" paceline-rt train "$out/$name.experiment.json" --data "$out/$data" \
    --json "$out/$name.json" > /dev/null < /dev/null
done <<'LIST'
one_rank 1 digits
two_ranks 2 digits
shuffled_labels 1 shuffled
LIST

"$python" - "$out" <<'PYTHON'
import json, sys

failed = False
for name in ("one_rank", "two_ranks", "shuffled_labels"):
    learnt = json.load(open(f"{sys.argv[1]}/{name}.json"))["training"]
    held_out, seconds = learnt["held_out_accuracy"], learnt["wall_time_s"]
    good = held_out < 0.15 if name == "shuffled_labels" else held_out >= 0.95 and seconds < 180
    failed = failed or not good
    print(f"{name}: held-out accuracy {held_out:.1%} of {learnt['held_out_samples']} images, "
          f"training accuracy {learnt['train_accuracy']:.1%}, {learnt['epochs']} epochs in "
          f"{seconds:.0f} s{'' if good else '  FAILED'}")
sys.exit(failed)
PYTHON
