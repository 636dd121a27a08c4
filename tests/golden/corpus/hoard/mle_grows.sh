s=$(cat)
x=$(printf '%1000000s' y)
while :; do x=$x$x; done
