import sys

sys.stdout.write("500\n")
sys.stdin.readline()
