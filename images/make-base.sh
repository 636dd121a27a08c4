#!/bin/sh
# Make debian:bookworm-slim from Debian's own packages, without any container registry. `--force` makes it anew.
set -eu
DOCKER=${DOCKER:-docker}
if [ "${1:-}" != "--force" ] && "$DOCKER" image inspect debian:bookworm-slim >/dev/null 2>&1; then
  echo "debian:bookworm-slim is there"
  exit 0
fi
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$work/base.tar"
"$DOCKER" import "$work/base.tar" debian:bookworm-slim
