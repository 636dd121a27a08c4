#!/bin/bash
# Run a command with a Docker Engine: the one that answers, or one started for the command and stopped after it.
set -u
if [ -z "${DOCKER:-}" ]; then
  DOCKER=docker
  [ -x /usr/bin/docker ] && DOCKER=/usr/bin/docker
fi
export DOCKER
if "$DOCKER" info >/dev/null 2>&1; then
  exec "$@"
fi
mkdir -p .run
# a pid file of a daemon that was killed keeps the next from starting
[ -e /var/run/docker.pid ] && ! kill -0 "$(cat /var/run/docker.pid)" 2>/dev/null && rm -f /var/run/docker.pid
unset DOCKER_HOST
rm -f .run/dockerd.stop
# a daemon that dies comes back, as a service manager would have it
setsid bash -c 'while [ ! -e .run/dockerd.stop ]; do
  dockerd --host unix:///var/run/docker.sock; sleep 0.2; rm -f /var/run/docker.pid; done' >.run/dockerd.log 2>&1 </dev/null &
pid=$!
stop() {
  touch .run/dockerd.stop
  kill "$(cat /var/run/docker.pid 2>/dev/null)" 2>/dev/null
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
  kill -9 -- "-$pid" 2>/dev/null
}
trap stop EXIT
for _ in $(seq 120); do
  "$DOCKER" info >/dev/null 2>&1 && break
  kill -0 "$pid" 2>/dev/null || { echo "dockerd ended:" >&2; tail -20 .run/dockerd.log >&2; exit 1; }
  sleep 0.5
done
"$DOCKER" info >/dev/null 2>&1 || { echo "dockerd did not answer within 60 s:" >&2; tail -20 .run/dockerd.log >&2; exit 1; }
"$@"
exit $?
