# The kernel of Bash: guest/envd/kernels.py says what it reads and writes.
# With extdebug, a trap of DEBUG whose status is 2 returns from each function and from what is sourced. It must not
# fork: a subshell has the trap, too, and would fork without end.
trap '__interrupted=1; shopt -s extdebug; set -T; trap '\''[ "${BASH_SOURCE:-0}" -eq 0 ] 2>&-'\'' DEBUG' INT
while IFS= read -r -d '' -u 3 __code && IFS= read -r -d '' -u 3 __count; do
  __before=()
  while ((__count-- > 0)); do
    IFS= read -r -d '' -u 3 __name
    IFS= read -r -d '' -u 3 __value
    [[ $__name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || continue
    __before+=("$__name" "${!__name-}" "${!__name+set}")
    export "$__name=$__value"
  done
  if [[ ${__interrupted-} ]]; then trap - DEBUG; shopt -u extdebug; set +T; fi
  __interrupted= __error=CalledProcessError
  . /dev/fd/5 5<<<'eval "$__code" 3<&- 4>&- 5<&-'
  __status=$?
  [[ $__interrupted ]] && __status=130 __error=KeyboardInterrupt
  for ((__count = 0; __count < ${#__before[@]}; __count += 3)); do
    if [[ ${__before[__count + 2]} ]]; then export "${__before[__count]}=${__before[__count + 1]}"
    else unset "${__before[__count]}"; fi
  done
  if ((__status)); then
    printf '{"type": "error", "name": "%s", "value": "exit status %d", "traceback": ""}\n' $__error $__status >&4
  fi
  printf '{"type": "done"}\n' >&4
done
