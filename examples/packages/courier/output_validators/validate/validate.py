"""Two passes: a word is taken and sent on reversed, then the number must come back."""

import sys
from pathlib import Path

from words import is_word, reject

feedback = sys.argv[3]
order = Path(sys.argv[1]).read_text().split()
printed = sys.stdin.read().split()
if order[0] == "send":
    if len(printed) != 1 or not is_word(printed[0]):
        reject(feedback, "no word of at most 40 letters a and b")
    with open(feedback + "nextpass.in", "w") as following:
        following.write("receive " + printed[0][::-1] + "\n")
    with open(feedback + "carried.txt", "w") as carried:
        carried.write(printed[0])
elif printed != Path(sys.argv[2]).read_text().split():
    reject(feedback, "not the number that was sent as " + Path(feedback, "carried.txt").read_text())
sys.exit(42)
