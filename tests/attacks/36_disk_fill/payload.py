import os
n = 0
while True:
    with open(f'/tmp/f{n}', 'wb') as f: f.write(b'x' * 5000000)
    n += 1
