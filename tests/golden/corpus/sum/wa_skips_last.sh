s=$(cat)
t=0
set -- $s
shift
while [ $# -gt 1 ]; do t=$((t + $1)); shift; done
echo "$t"
