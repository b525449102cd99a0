#!/usr/bin/env bash
# `train --trace` on two ranks: one file with both ranks' events on one clock. Each operation of the
# report stands in it once a rank, spans of one stream nest or are disjoint, and the two ranks'
# stays in a collective overlap. Progress is silent, since standard error is no terminal.
#   trace_test.sh PROGRAM
set -euo pipefail
program=$1
mpirun=$(cd "$(dirname "$0")" && pwd)/../../scripts/mpirun.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/experiment.json" <<'JSON'
{"schema": "paceline/experiment/1", "framework": "paceline", "model": "vit_digits",
 "training": {"micro_batch": 4}, "parallel": {"world_size": 2, "overlap": true, "bucket_mib": 1},
 "run": {"steps": 5, "warmup_steps": 2}}
JSON
"$mpirun" -n 2 "$program" train "$work/experiment.json" --json "$work/report.json" \
  --trace "$work/trace.json" > /dev/null 2> "$work/stderr"
grep -q training "$work/stderr" && { echo "progress where nobody looks"; exit 1; }
python3 - "$work" <<'PYTHON'
import collections, json, sys

report = json.load(open(sys.argv[1] + "/report.json"))
trace = json.load(open(sys.argv[1] + "/trace.json"))
assert trace["distributedInfo"] == {"backend": "mpi", "rank": 0, "world_size": 2}
events = [event for event in trace["traceEvents"] if event["ph"] == "X"]

operations = sorted(operation["id"] for operation in report["operations"])
for rank in (0, 1):
    names = sorted(e["name"] for e in events if e["pid"] == rank and e["cat"] == "kernel")
    assert names == operations, f"rank {rank} has other operations than the report"

lanes = collections.defaultdict(list)
for event in events:
    lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
slack = 0.002  # times are in us and were whole ns
for spans in lanes.values():
    open_until = []
    for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_until and open_until[-1] <= begin + slack:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + slack, f"{name} crosses another span"
        open_until.append(end)

for name in (operation for operation in operations if operation.endswith("all_reduce")):
    stays = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == name]
    assert len(stays) == 2 and max(s[0] for s in stays) < min(s[1] for s in stays), name

for rank in report["ranks"]:
    assert abs(rank["clock_offset_us"]) <= max(1000.0, rank["clock_uncertainty_us"])
assert report["ranks"][1]["clock_uncertainty_us"] > 0
assert report["provenance"]["clock"] == "one for all ranks"
PYTHON
