for i in 1 2 3; do
  (while :; do :; done) &
done
wait
