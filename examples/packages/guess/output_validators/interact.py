"""Holds the number; right when it is guessed within ten tries."""

import sys

given, _answer, feedback = sys.argv[1:4]


def wrong(why):
    with open(feedback + "judgemessage.txt", "w") as file:
        file.write(why)
    sys.exit(43)


with open(given) as file:
    secret = int(file.read())
for _ in range(10):
    line = sys.stdin.readline(100)
    if not line.strip().isdigit():
        wrong("no number was guessed")
    guess = int(line)
    print("lower" if secret < guess else "higher" if secret > guess else "correct", flush=True)
    if guess == secret:
        sys.exit(42)
wrong("not within ten guesses")
