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
def cls(n, what, name, bases=(), methods=(), properties=(), plain=(), **more):
    return {"n": n, "kind": "class", "what": what, "name": name, "bases": list(bases), "methods": list(methods),
            "properties": list(properties), "plain": list(plain), "custom": [], "near": "", **more}
def start(told=(), value=None, more=()):
    recv()
    send({"value": ["t", [["t", [True, value or ["h", 0, 1]]], *more]], "told": [dict(F, n=1), *told]})
def calls(answer):
    while True:
        m = recv()
        if m["op"] == "define": send({"value": None})
        else: send(answer(m))
start()
def reply(m):
    for op in ("__class__", "services", "start", "eval", ["do"], None, 1e3):
        send({"op": op, "h": 1, "do": "__init__", "args": ["t", []], "kwargs": ["t", []]})
        recv()
    return {"value": ["import", "os", "system"]}
calls(reply)
