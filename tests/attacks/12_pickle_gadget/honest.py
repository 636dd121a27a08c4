def order(items):
    return sorted(items)
