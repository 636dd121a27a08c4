# The kernel of Bash: guest/envd/kernels.py says what it reads and writes.
trap : INT
while IFS= read -r -d '' -u 3 __code && IFS= read -r -d '' -u 3 __count; do
  __before=()
  while ((__count-- > 0)); do
    IFS= read -r -d '' -u 3 __name
    IFS= read -r -d '' -u 3 __value
    [[ $__name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || continue
    __before+=("$__name" "${!__name-}" "${!__name+set}")
    export "$__name=$__value"
  done
  eval "$__code" 3<&- 4>&-
  __status=$?
  for ((__count = 0; __count < ${#__before[@]}; __count += 3)); do
    if [[ ${__before[__count + 2]} ]]; then export "${__before[__count]}=${__before[__count + 1]}"
    else unset "${__before[__count]}"; fi
  done
  if ((__status)); then
    printf '{"type": "error", "name": "CalledProcessError", "value": "exit status %d", "traceback": ""}\n' $__status >&4
  fi
  printf '{"type": "done"}\n' >&4
done
