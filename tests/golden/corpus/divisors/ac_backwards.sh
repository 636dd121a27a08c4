s=$(cat)
for ((d = s; d > 0; d--)); do ((s % d == 0)) && echo "$d"; done
true
