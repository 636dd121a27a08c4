#!/bin/sh
# Put this machine's python3, its standard library and every shared library of theirs into a folder, with that folder
# as the only place where they are looked for.
set -eu
to=$1
python=$(readlink -f "$(command -v python3)")
version=$(basename "$python")
mkdir -p "$to/bin" "$to/lib"
cp "$python" "$to/bin/python3"
cp -a "/usr/lib/$version" "$to/lib/$version"
rm -rf "$to/lib/$version/test" "$to/lib/$version/idlelib" "$to/lib/$version/lib2to3" "$to/lib/$version"/config-*
find "$to/lib" -xtype l -delete
find "$to/lib" -type l | while read -r link; do cp --remove-destination "$(readlink -f "$link")" "$link"; done
loader=$(patchelf --print-interpreter "$python")
cp -L "$loader" "$to/lib/$(basename "$loader")"
binaries=$(find "$to/lib" -name '*.so')
# shellcheck disable=SC2086 # names without blanks
for library in $(ldd "$to/bin/python3" $binaries | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u); do
  [ -e "$to/lib/$(basename "$library")" ] || cp -L "$library" "$to/lib/"
done
for file in $binaries "$to"/lib/*.so.*; do
  case "$file" in */ld-linux*) continue ;; esac
  chmod u+w "$file"
  patchelf --force-rpath --set-rpath "$to/lib" "$file"
done
patchelf --set-interpreter "$to/lib/$(basename "$loader")" --force-rpath --set-rpath "$to/lib" "$to/bin/python3"
cp /bin/bash-static "$to/bin/bash"
cp "$(dirname "$0")/smoke.py" "$to/smoke.py"
"$to/bin/python3" -I -m compileall -q "$to/lib/$version"
chmod -R a+rX,go-w "$to"
