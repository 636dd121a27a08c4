#!/bin/sh
# where Grafana's image starts it
exec /usr/bin/python3 /stand_in.py grafana
