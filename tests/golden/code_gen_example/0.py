def solve(words):
    seen = set(words)
    ways = {"01": [], "10": []}
    loops = set()
    for index, word in enumerate(words, 1):
        ends = word[0] + word[-1]
        if ends in ways:
            ways[ends].append(index)
        else:
            loops.add(ends)
    if len(loops) == 2 and not ways["01"] and not ways["10"]:
        return "-1"
    more = max(ways.values(), key=len)
    count = abs(len(ways["01"]) - len(ways["10"])) // 2
    free = [index for index in more if words[index - 1][::-1] not in seen][:count]
    return f"{count}\n{' '.join(map(str, free))}"


for _ in range(int(input())):
    print(solve([input() for _ in range(int(input()))]))
