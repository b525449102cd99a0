#!/usr/bin/env bash
# What this runtime does not run is refused before anything starts: exit 2, every fault, no file.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

refused() {  # EXPERIMENT MESSAGE…
  echo "$1" > "$folder/e.json"
  local code=0
  "$program" train "$folder/e.json" --json "$folder/out.json" > "$folder/stdout" 2> "$folder/stderr" || code=$?
  [ "$code" -eq 2 ] || { echo "exit $code, expected 2 for $1"; cat "$folder/stderr"; exit 1; }
  [ ! -e "$folder/out.json" ] || { echo "a report was written for $1"; exit 1; }
  shift
  for message in "$@"; do
    grep -qF -- "$message" "$folder/stderr" ||
      { echo "no \"$message\" in:"; cat "$folder/stderr"; exit 1; }
  done
}

start='{"schema": "paceline/experiment/1", "model": "vit_digits"'
refused "$start, \"training\": {\"micro_batch\": 2}}" '#/framework: got "pytorch_ddp"' 'this runtime is "paceline"'
refused "$start, \"training\": {\"micro_batch\": 2, \"precision\": \"amp_bf16\"}}" \
  '#/framework:' '#/training/precision: got "amp_bf16" (CPU ranks run fp32)'
refused "$start, \"framework\": \"paceline\", \"training\": {\"micro_batch\": 2, \"dataset\": {\"name\": \"cifar10\"}}}" \
  'training/dataset/path: is missing'
