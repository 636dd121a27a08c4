exec 3<> <(:)
sleep 60
