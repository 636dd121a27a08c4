import json, os, struct
def _read(n):
    data = b""
    while len(data) < n:
        piece = os.read(3, n - len(data))
        if not piece: os._exit(0)
        data += piece
    return data
def recv():
    return json.loads(_read(struct.unpack("!I", _read(4))[0]))
def send(message):
    data = json.dumps(message).encode()
    data = struct.pack("!I", len(data)) + data
    while data: data = data[os.write(3, data):]
F = {"kind": "function", "name": "f", "params": None, "type": "function", "doc": None, "async": False}
def start(told=(), value=None, more=()):
    recv()
    send({"value": ["t", [["t", [True, value or ["h", 0, 1]]], *more]], "told": [dict(F, n=1), *told]})
start()
recv()
while True:
    send({"op": "do", "h": 1, "do": "call", "args": ["t", []], "kwargs": ["t", []], "x": "x" * 4_000_000})
    recv()
