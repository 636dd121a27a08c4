guess = 0
while True:
    guess += 1
    print(guess, flush=True)
    if input() == "correct":
        break
