s=$(cat)
set -- $s
out=
for w in "$@"; do out="$w${out:+ $out}"; done
printf '%s\n' "$out"
