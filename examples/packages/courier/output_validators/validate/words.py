import sys


def is_word(word):
    return 1 <= len(word) <= 40 and set(word) <= {"a", "b"}


def reject(feedback, why):
    with open(feedback + "judgemessage.txt", "a") as message:
        message.write(why + "\n")
    sys.exit(43)
