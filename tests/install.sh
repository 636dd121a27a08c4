#!/bin/sh
# tests/install.sh PYTHON ARGUMENTS...: `pip install` into an environment, by uv, which takes a sixth of the time.
# uv reads none of pip's settings, so it is told them; where it fails, pip itself has the word.
set -eu
python=$1
shift
setting() { # of pip's, wherever it is made
  "$python" -m pip config list 2>/dev/null | sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" | tail -1
}
"$python" -m uv --version >/dev/null 2>&1 || "$python" -m pip install -q --disable-pip-version-check uv
index=$(setting index-url) extra=$(setting extra-index-url) links=$(setting find-links) cert=$(setting cert)
[ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
[ -z "$extra" ] || export UV_INDEX="$extra" UV_INDEX_STRATEGY=unsafe-best-match # as pip: the best of all of them
[ -z "$links" ] || export UV_FIND_LINKS="$links"
[ -z "$cert" ] || export SSL_CERT_FILE="$cert"
"$python" -m uv pip install --quiet --python "$python" "$@" ||
  "$python" -m pip install -q --disable-pip-version-check "$@"
