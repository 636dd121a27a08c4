s=$(cat)
echo 1
