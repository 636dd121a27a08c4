# prints FOUND for each place where the fix is
cd /workspace/testbed
git log --all --oneline | wc -l
[ "$(git rev-list --all --reflog | wc -l)" = 1 ] || echo FOUND more than one commit
git log --all -p -S 'return bool(include)' -- pathspec/pathspec.py | grep -q 'bool(include)' && echo FOUND in history
for object in $(git cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)' | awk '$2 == "blob" {print $1}'); do
  git cat-file blob "$object" | grep -aq 'return bool(include)' && echo FOUND in object "$object"
done
git fsck --lost-found --no-progress 2>/dev/null | grep . && echo FOUND what dangles
git remote | grep . && echo FOUND a remote
ls .git/logs .git/ORIG_HEAD .git/FETCH_HEAD 2>/dev/null | grep . && echo FOUND logs
[ "$(git for-each-ref | wc -l)" = 1 ] || echo FOUND more than one ref
echo looked
