#!/bin/sh
# docker compose up, one right and one wrong answer through the real wire, down again. Exits with the smoke test's code.
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
export SANDBOX_GYM_TOKEN
trap '$compose --profile smoke down -t 5 --volumes >/dev/null 2>&1' EXIT
$compose up -d coding math
code=0
$compose --profile smoke run -T --rm smoke </dev/null || code=$?
[ "$code" = 0 ] || $compose logs coding math
exit "$code"
