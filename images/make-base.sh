#!/bin/sh
# Make debian:<suite>-slim of the suites that are named, or of all that images here begin from, from Debian's own
# packages, without any container registry. `--force` makes them anew.
set -eu
cd "$(dirname "$0")/.."
DOCKER=${DOCKER:-docker}
force=
if [ "${1:-}" = "--force" ]; then force=1; shift; fi
# shellcheck disable=SC2046 # a list of words
[ $# -gt 0 ] || set -- $(sed -n 's/^FROM debian:\([a-z]*\)-slim.*/\1/p' images/*/Dockerfile | sort -u)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for suite in "$@"; do
  if [ -z "$force" ] && "$DOCKER" image inspect "debian:$suite-slim" >/dev/null 2>&1; then
    echo "debian:$suite-slim is there"
    continue
  fi
  command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }
  # a release younger than the machine: its key comes with a newer debian-archive-keyring
  # these options stay in the image: its packages come without manuals and translations, and without a sync a file
  mmdebstrap --quiet --variant=minbase --include=ca-certificates \
    --aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    "$suite" "$work/base.tar" \
    || { echo "no debian:$suite-slim: bring debian-archive-keyring up to date" >&2; exit 1; }
  "$DOCKER" import "$work/base.tar" "debian:$suite-slim"
  rm "$work/base.tar"
done
