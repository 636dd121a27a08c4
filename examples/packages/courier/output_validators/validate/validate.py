"""Two passes: a word is taken and sent on reversed, then the number must come back."""

import sys

from words import is_word, reject

feedback = sys.argv[3]
order = open(sys.argv[1]).read().split()
printed = sys.stdin.read().split()
if order[0] == "send":
    if len(printed) != 1 or not is_word(printed[0]):
        reject(feedback, "no word of at most 40 letters a and b")
    with open(feedback + "nextpass.in", "w") as following:
        following.write("receive " + printed[0][::-1] + "\n")
    with open(feedback + "carried.txt", "w") as carried:
        carried.write(printed[0])
elif printed != open(sys.argv[2]).read().split():
    reject(feedback, "not the number that was sent as " + open(feedback + "carried.txt").read())
sys.exit(42)
