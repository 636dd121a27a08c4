if true; then echo 6
