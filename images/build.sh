#!/bin/sh
# Build every image that is named, or base, guest, python, polyglot, math and swe, in order. `images/build.sh server` adds the coding
# server's, `images/build.sh polyglot-more` (5 GB more, needs polyglot) the further languages, `images/build.sh code-interpreter`
# (1 GB more, needs polyglot) what E2B's code interpreter has, `images/build.sh e2b` (0.6 GB more, needs python) what its base template has.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${DOCKER:-}" ]; then
  DOCKER=docker
  [ -x /usr/bin/docker ] && DOCKER=/usr/bin/docker
fi
export DOCKER
[ $# -gt 0 ] || set -- base guest python polyglot math swe
for name in "$@"; do
  case "$name" in base|guest|python|polyglot|polyglot-more|code-interpreter|e2b|math|swe|server) ;; *) echo "no image called $name: base, guest, python, polyglot, polyglot-more, code-interpreter, e2b, math, swe or server" >&2; exit 2 ;; esac
done
suites=
for name in "$@"; do
  suites="$suites $(sed -n 's/^FROM debian:\([a-z]*\)-slim.*/\1/p' "images/$name/Dockerfile")"
done
# shellcheck disable=SC2086 # a list of words
[ -z "${suites# }" ] || images/make-base.sh $suites
# pip inside a build trusts what this machine trusts
bundle=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' sandbox_gym/__init__.py)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
replaced=
for name in "$@"; do
  replaced="$("$DOCKER" image inspect --format '{{.Id}}' "sandbox-gym/$name:latest" 2>/dev/null || :) $replaced"
  context=images/$name
  index=
  if [ "$name" = swe ]; then
    context=$work/swe
    mkdir -p "$context/python"
    cp images/swe/* "$context/"
    copy="import pathlib, sys; from sandbox_gym.sandbox.pythons import ready"
    copy="$copy; ready(sys.argv[2], pathlib.Path(sys.argv[1]))"
    # Debian has one Python; rows ask for others, which this machine may have. SWE_PYTHONS= builds without any
    for minor in ${SWE_PYTHONS-3.12}; do
      "${PYTHON:-.venv/bin/python}" -c "$copy" "$context/python" "$minor" \
        || echo "swe: no Python $minor here; rows that ask for it can't be built in containers" >&2
    done
  fi
  if [ "$name" = polyglot ]; then
    context=$work/polyglot
    mkdir "$context"
    cp images/polyglot/* sandbox_gym/sandbox/prepared_compilers.py "$context/"
    for file in packages.txt smoke.py; do cp "images/python/$file" "$context/python-$file"; done
  fi
  if [ "$name" = polyglot-more ]; then
    context=$work/polyglot-more
    mkdir "$context"
    cp images/polyglot-more/* sandbox_gym/sandbox/prepared_compilers.py "$context/"
    kotlin=$(sed -n 's/.*npm="\(.*\)".*/\1/p' verifiers/coding/languages/more/kotlin.py)
    command -v npm >/dev/null || { echo "polyglot-more needs npm: apt-get install npm" >&2; exit 2; }
    mv "$context/$(cd "$context" && npm pack --silent "$kotlin")" "$context/kotlin-compiler.tgz"
  fi
  case "$name" in math|server|code-interpreter)  # these run pip
    context=$work/$name
    mkdir "$context"
    case "$name" in
      math|code-interpreter) cp "images/$name"/* "$context/" ;;
      server) # without bytecode, which others may be writing
        cp -a images/server "$context/"
        find pyproject.toml README.md LICENSE tools/package_metadata.py deploy/seccomp sandbox_gym verifiers resources_servers \
          -name __pycache__ -prune -o ! -type d -print0 | xargs -0 cp -a --parents -t "$context" ;;
    esac
    for setting in PIP_INDEX_URL PIP_EXTRA_INDEX_URL; do
      if printenv "$setting" >/dev/null; then index="$index --build-arg $setting"; fi
    done
    if [ -e "$bundle" ]; then cp "$bundle" "$context/ca-bundle.crt"; else : > "$context/ca-bundle.crt"; fi ;;
  esac
  echo "building sandbox-gym/$name"
  # `docker history` shows build arguments: keep passwords out of these addresses
  "$DOCKER" build --quiet --network host $index -t "sandbox-gym/$name:latest" -t "sandbox-gym/$name:$version" -f "images/$name/Dockerfile" "$context"
done
# what these took the place of, the topmost first; not what has another name, or what a container or another image is made of
for id in $replaced; do
  [ "$("$DOCKER" image inspect --format '{{len .RepoTags}}' "$id" 2>/dev/null)" != 0 ] || "$DOCKER" image rm "$id" >/dev/null 2>&1 || :
done
