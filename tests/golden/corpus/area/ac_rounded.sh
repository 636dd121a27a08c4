s=$(cat)
awk -v r="$s" 'BEGIN { printf "%.9f\n", atan2(0, -1) * r * r }'
