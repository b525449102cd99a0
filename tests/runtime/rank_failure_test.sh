#!/usr/bin/env bash
# A rank that dies, stops, throws or disagrees ends the whole run in bounded time, by name, with no
# orphan and nothing under the report's name.
#   rank_failure_test.sh killed|stopped|throws|disagrees|wrong_count|not_finite PROGRAM
set -u
name=$1
program=$2
here=$(cd "$(dirname "$0")" && pwd)
mpirun="$here/../../scripts/mpirun.sh"
work=$(mktemp -d)
trap 'pkill -KILL -f "$work/" 2>/dev/null; rm -rf "$work"' EXIT

experiment() {  # file, steps, world size
  cat > "$1" <<JSON
{"schema": "paceline/experiment/1", "model": "vit_digits", "framework": "paceline",
 "training": {"micro_batch": 8}, "parallel": {"world_size": $3}, "run": {"steps": $2}}
JSON
}
fail() { echo "FAILED: $1"; echo "--- stderr:"; cat "$work/stderr"; exit 1; }

experiment "$work/long.json" 1000000 2
experiment "$work/other.json" 50 2

start() {  # starts two ranks in the background; their last argument marks them as ours
  "$mpirun" -n 2 "$program" train "$work/long.json" --json "$work/report.json" "$@" \
    > "$work/stdout" 2> "$work/stderr" &
  launcher=$!
  for _ in $(seq 100); do
    mapfile -t ranks < <(pgrep -f "^$program train $work/long.json" | sort -n)
    [ ${#ranks[@]} -eq 2 ] && break
    sleep 0.1
  done
  [ ${#ranks[@]} -eq 2 ] || fail "two ranks should run, found ${#ranks[@]}"
  sleep 2
}
victim() {  # process of rank 1
  for process in "${ranks[@]}"; do
    tr '\0' '\n' < "/proc/$process/environ" | grep -q '^OMPI_COMM_WORLD_RANK=1$' && echo "$process"
  done
}
finish() {  # waits at most $1 seconds for the launcher; its exit code
  for _ in $(seq $(($1 * 10))); do
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  kill -0 "$launcher" 2>/dev/null && fail "still running after $1 s"
  wait "$launcher"
  code=$?
}

case $name in
  killed)
    start
    kill -KILL "$(victim)"
    finish 10
    [ "$code" -eq 1 ] || fail "exit code $code"
    grep -Eq 'rank 1 died in step [0-9]+, operation [a-z]+\.' "$work/stderr" || fail "rank 1 and its operation not named"
    ;;
  stopped)
    start --expected-step-us 1000   # the least deadline, 10 s, holds
    process=$(victim)
    kill -STOP "$process"
    finish 25
    kill -KILL "$process" 2>/dev/null
    [ "$code" -eq 1 ] || fail "exit code $code"
    grep -Eq 'rank 1 is furthest behind, stopped .SIGSTOP. in step [0-9]+, operation [a-z]+\.' "$work/stderr" || fail "rank 1 and its operation not named"
    ;;
  throws)
    # Rank 1 gets a folder without images and throws after the ranks have met.
    cat > "$work/start.sh" <<SH
#!/usr/bin/env bash
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && set -- "\$@" --data "$work/no_images"
exec "$program" "\$@"
SH
    chmod +x "$work/start.sh"
    "$mpirun" -n 2 "$work/start.sh" train "$work/other.json" --json "$work/report.json" \
      > "$work/stdout" 2> "$work/stderr" &
    launcher=$!
    finish 20
    [ "$code" -eq 2 ] || fail "exit code $code"   # bad input
    grep -q 'rank 1' "$work/stderr" || fail "rank 1 not named"
    grep -q 'holds no data set' "$work/stderr" || fail "cause not named"
    ;;
  disagrees)
    cat > "$work/start.sh" <<SH
#!/usr/bin/env bash
file="$work/other.json"
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && file="$work/long.json"
exec "$program" train "\$file" --json "$work/report.json"
SH
    chmod +x "$work/start.sh"
    "$mpirun" -n 2 "$work/start.sh" > "$work/stdout" 2> "$work/stderr" &
    launcher=$!
    finish 20
    [ "$code" -eq 1 ] || fail "exit code $code"
    grep -q 'rank 1 disagrees with rank 0: it has experiment' "$work/stderr" || fail "rank 1 not named"
    ;;
  wrong_count)
    experiment "$work/three.json" 5 3
    "$mpirun" -n 2 "$program" train "$work/three.json" --json "$work/report.json" \
      > "$work/stdout" 2> "$work/stderr" &
    launcher=$!
    finish 20
    [ "$code" -eq 2 ] || fail "exit code $code"
    grep -q 'parallel/world_size: got 3 (2 ranks were started' "$work/stderr" || fail "counts not named"
    ;;
  not_finite)
    sed 's/"micro_batch": 8/"micro_batch": 8, "learning_rate": 1e30/' "$work/other.json" \
      > "$work/broken.json"
    "$mpirun" -n 2 "$program" train "$work/broken.json" --json "$work/report.json" \
      > "$work/stdout" 2> "$work/stderr" &
    launcher=$!
    finish 20
    [ "$code" -eq 1 ] || fail "exit code $code"
    grep -Eq 'rank [01]: the loss of step [0-9]+ is -?(nan|inf), and the first tensor that is not finite is' \
      "$work/stderr" || fail "step and tensor not named"
    ;;
  *) fail "no case $name" ;;
esac
sleep 1
pgrep -f "^$program train $work/" > /dev/null && fail "an orphan is left"
[ -e "$work/report.json" ] && fail "a report was written"
ls "$work"/report.json.partial* 2>/dev/null && fail "a partial report is left"
echo "$name, exit code $code: $(grep -m1 paceline-rt "$work/stderr")"
exit 0
