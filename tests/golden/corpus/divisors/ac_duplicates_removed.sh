for d in 1 2 3 4 6 12 97; do
  echo "$d"
done > /tmp/all
read -r n
while read -r d; do
  if ((n % d == 0 && d <= n)); then echo "$d"; fi
done < /tmp/all
