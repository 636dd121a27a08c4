#!/bin/bash
# Run a command with a PostgreSQL of its own: a cluster in a temporary folder, on loopback, gone after the command.
# The command finds it in SANDBOX_GYM_TEST_POSTGRES.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || { echo "PostgreSQL's programs are missing: apt-get install postgresql" >&2; exit 1; }
folder=$(mktemp -d /tmp/sandbox-gym-postgres.XXXXXX)
as_postgres=""
if [ "$(id -u)" = 0 ]; then # initdb refuses root
  chown postgres "$folder"
  as_postgres="runuser -u postgres --"
fi
stop() {
  (cd / && $as_postgres "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1) || true
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
password=$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')
printf '%s' "$password" >"$folder/password"
[ -z "$as_postgres" ] || chown postgres "$folder/password"
chmod 600 "$folder/password"
(cd / && $as_postgres "$bin/initdb" -D "$folder/data" -U gym --auth=scram-sha-256 --pwfile="$folder/password" \
  --encoding=UTF8 --locale=C -N >/dev/null)
for _ in 1 2 3 4 5; do # the free port may be taken between the look and the start
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  if (cd / && $as_postgres "$bin/pg_ctl" -D "$folder/data" -w -t 30 -l "$folder/log" \
      -o "-p $port -c listen_addresses=127.0.0.1 -k $folder" start >/dev/null); then
    export SANDBOX_GYM_TEST_POSTGRES="postgresql://gym:$password@127.0.0.1:$port/postgres"
    "$@"
    exit $?
  fi
done
echo "PostgreSQL did not start:" >&2
tail -20 "$folder/log" >&2
exit 1
