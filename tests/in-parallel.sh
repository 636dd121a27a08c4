#!/bin/bash
# Run everything with the pytest that is given, as in `tests/in-parallel.sh .venv/bin/python -m pytest --extended`: a file
# on each core at a time, for most tests wait; then, one by one, those that need the machine or its Docker Engine alone.
# Files come in their order: by their number of tests those with few and long ones would come last.
set -u
"$@" --numprocesses "${SANDBOX_GYM_TEST_PROCESSES:-2}" --dist loadfile --no-loadscope-reorder -m "not alone"
shared=$?
"$@" -m alone
alone=$?
exit $((shared > alone ? shared : alone))
