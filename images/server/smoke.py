"""Posts one right and one wrong answer to a running coding server; exits 0 only when the rewards are 1.0 and 0.0."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("SANDBOX_GYM_URL", "http://coding:8080")
TOKEN = os.environ.get("SANDBOX_GYM_TOKEN", "")


def verify(code):
    text = "```python\n%s\n```" % code
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    body = {
        "responses_create_params": {"input": "Double the number."},
        "response": {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "smoke",
            "output": [message],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
        },
        "verifier_metadata": {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}},
    }
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
    request = urllib.request.Request(URL + "/verify", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["reward"]


def main():
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(URL + "/", timeout=5).close()
            break
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    rewards = verify("print(int(input()) * 2)"), verify("print(int(input()) + 2)")
    sys.stdout.write("right %s, wrong %s\n" % rewards)
    return 0 if rewards == (1.0, 0.0) else 1


sys.exit(main())
