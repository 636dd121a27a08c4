#!/bin/bash
# Fetch uPlot, which draws the dashboard's charts, from npm into the package: its module, style sheet and licence, as they
# come, with their checksums. A new version: change the two lines below, run this, look at the pages (make test-browser).
set -eu
version=1.6.32
integrity=sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==
cd "$(dirname "$0")/../sandbox_gym/server/dashboard/static"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "uplot@$version" >/dev/null
found=sha512-$(openssl dgst -sha512 -binary "$folder/uplot-$version.tgz" | base64 -w0)
[ "$found" = "$integrity" ] || { echo "uplot-$version.tgz is $found" >&2; exit 1; }
tar -xzf "$folder/uplot-$version.tgz" -C "$folder"
mkdir -p uplot
cp "$folder"/package/{LICENSE,dist/uPlot.esm.js,dist/uPlot.min.css} uplot/
chmod 644 uplot/*
(cd uplot && echo "$version" >VERSION && sha256sum LICENSE VERSION uPlot.esm.js uPlot.min.css >SHA256SUMS)
