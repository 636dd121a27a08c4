s=$(cat)
t=0
set -- $s
shift
for x in "$@"; do t=$((t + x)); done
echo "$t"
