#!/bin/sh
# Build every image that is named, or base and python, in order. `images/build.sh server` adds the coding server's.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${DOCKER:-}" ]; then
  DOCKER=docker
  [ -x /usr/bin/docker ] && DOCKER=/usr/bin/docker
fi
export DOCKER
images/make-base.sh
# pip inside a build trusts what this machine trusts
bundle=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
for name in "$@"; do
  case "$name" in base|python|server) ;; *) echo "no image called $name: base, python or server" >&2; exit 2 ;; esac
done
[ $# -gt 0 ] || set -- base python
for name in "$@"; do
  context=images/$name
  if [ "$name" = server ]; then
    context=$(mktemp -d)
    trap 'rm -rf "$context"' EXIT
    cp -a pyproject.toml README.md sandbox_gym verifiers resources_servers images/server "$context/"
    if [ -e "$bundle" ]; then cp "$bundle" "$context/ca-bundle.crt"; else : > "$context/ca-bundle.crt"; fi
  fi
  echo "building sandbox-gym/$name"
  "$DOCKER" build --quiet --network host -t "sandbox-gym/$name:latest" -f "images/$name/Dockerfile" "$context"
done
