def encoded(number):
    return format(number, "b").translate({48: "a", 49: "b"})


def decoded(word):
    return int(word[::-1].translate({97: "0", 98: "1"}), 2)
