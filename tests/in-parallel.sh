#!/bin/bash
# Run everything with the pytest that is given, as in `tests/in-parallel.sh .venv/bin/python -m pytest --extended`: a file
# on each core at a time, for most tests wait; then, one by one, those that need the machine or its Docker Engine alone.
# Files come in their order: by their number of tests those with few and long ones would come last.
# The number of commits decides which part of the long suites a daily run has (tests/daily.py).
# BESIDE: a command to run beside the first of the two, such as images/compose-smoke.sh.
set -u
export SANDBOX_GYM_TEST_SAMPLE="${SANDBOX_GYM_TEST_SAMPLE:-$(git rev-list --count HEAD 2>/dev/null || echo 0)}"
echo "SANDBOX_GYM_TEST_SAMPLE=$SANDBOX_GYM_TEST_SAMPLE"
beside=0 log=
if [ -n "${BESIDE:-}" ]; then
  log=$(mktemp)
  $BESIDE >"$log" 2>&1 </dev/null &
  pid=$!
fi
"$@" --numprocesses "${SANDBOX_GYM_TEST_PROCESSES:-2}" --dist loadfile --no-loadscope-reorder -m "not alone"
shared=$?
if [ -n "$log" ]; then
  wait "$pid"
  beside=$?
  echo "$BESIDE: exit code $beside"
  cat "$log"
  rm -f "$log"
fi
"$@" -m alone
alone=$?
for code in $shared $beside $alone; do [ "$code" = 0 ] || exit "$code"; done
