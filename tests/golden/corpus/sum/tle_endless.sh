s=$(cat)
x=1
while :; do x=$((x * 31 % 1000003)); done
