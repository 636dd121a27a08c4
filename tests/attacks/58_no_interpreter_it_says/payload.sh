echo "sandbox: can't start: no /bin/bash" >&2
exit 127
