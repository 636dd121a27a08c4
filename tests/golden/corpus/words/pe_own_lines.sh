s=$(cat)
set -- $s
out=
for w in "$@"; do out=" $w$out"; done
printf '%s' "$out"
