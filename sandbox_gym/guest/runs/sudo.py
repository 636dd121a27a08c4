"""A `sudo` for sandboxes without root: scripts that were written for E2B call it. Holds text; does nothing."""

SCRIPT = r"""#!/bin/sh
# Sandboxes have no root: the command runs as the same user, and a message says so. Scripts written for E2B call it.
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    -u | -g | -h | -p | -C | -r | -t | -U | -D | -R | -T) shift; [ $# -gt 0 ] && shift ;;
    -*) shift ;;
    [A-Za-z_]*=*) export "$1"; shift ;;
    *) break ;;
  esac
done
echo "sudo: there is no root in this sandbox; going on as $(id -un)" >&2
[ $# -eq 0 ] || exec "$@"
"""
