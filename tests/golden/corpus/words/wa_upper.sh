s=$(cat)
printf '%s.\n' "$s"
