#!/bin/sh
# docker compose up with traces and MCP on, one right and one wrong answer through the real wire, down again. Exits with the smoke test's code.
# `images/compose-smoke.sh remote`: the servers of profile `remote`, whose sandboxes are a pool's.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${DOCKER:-}" ]; then
  DOCKER=docker
  if [ -x /usr/bin/docker ]; then DOCKER=/usr/bin/docker; fi
fi
# a project of its own: taking it down leaves a server you run from this folder alone
export COMPOSE_PROJECT_NAME=sandbox-gym-smoke
if "$DOCKER" compose version >/dev/null 2>&1; then
  compose="$DOCKER compose"
elif command -v docker-compose >/dev/null; then
  compose=docker-compose
else
  echo "no compose: apt-get install docker-compose, or Docker's compose plugin" >&2
  exit 1
fi
SANDBOX_GYM_TOKEN=${SANDBOX_GYM_TOKEN:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
SANDBOX_GYM_POOL_TOKEN=${SANDBOX_GYM_POOL_TOKEN:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
export SANDBOX_GYM_TOKEN SANDBOX_GYM_POOL_TOKEN SANDBOX_GYM_TRACES=true SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP=true
profiles="--profile smoke" services="coding math swe" smoke=smoke
if [ "${1:-}" = remote ]; then
  profiles="--profile remote --profile smoke-remote" services="pool coding-remote math-remote swe-remote" smoke=smoke-remote
fi
trap '$compose $profiles down -t 5 --volumes >/dev/null 2>&1' EXIT
# shellcheck disable=SC2086 # lists of words
$compose $profiles up -d $services
code=0
# shellcheck disable=SC2086
$compose $profiles run -T --rm "$smoke" </dev/null || code=$?
# shellcheck disable=SC2086
[ "$code" = 0 ] || $compose $profiles logs $services
exit "$code"
