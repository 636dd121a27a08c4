# prints FOUND for each place where the fix is
cd /workspace/testbed
/workspace/env/bin/python -m pip cache list 2>/dev/null | grep -i pathspec && echo FOUND in the cache
timeout 5 /workspace/env/bin/python -m pip download --no-deps --retries 0 --timeout 3 -d /tmp/d pathspec==0.12.1 >/dev/null 2>&1 && echo FOUND in the index
find / -path /proc -prune -o \( -name 'pathspec-0.12.1*' -o -name 'pathspec-0.12.0.tar.gz' -o -name '*.whl' -ipath '*pathspec*' \) -print 2>/dev/null | grep . && echo FOUND a release
find / -path /proc -prune -o -path '*/pathspec/pathspec.py' -print 2>/dev/null | xargs -r grep -l 'return bool(include)' | grep . && echo FOUND the fixed file
for home in ~ /root /tmp /var/tmp; do ls -d "$home"/.cache/pip "$home"/.cache/uv 2>/dev/null; done | grep . && echo FOUND a cache
env | grep -iE 'index_url|proxy|token|secret' && echo FOUND settings
echo looked
