"""One right and one wrong answer to the coding and to the math server, while all servers are healthy and have MCP where
it is on; exits 0 when each reward is as it should be."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

CODING = os.environ.get("SANDBOX_GYM_URL", "http://coding:8080")
MATH = os.environ.get("SANDBOX_GYM_MATH_URL", "http://math:8080")
SWE = os.environ.get("SANDBOX_GYM_SWE_URL", "http://swe:8080")
MCP = os.environ.get("SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP") == "true"
TOKEN = os.environ.get("SANDBOX_GYM_TOKEN", "")
CODE_ROW = {"verifier_metadata": {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}}}
MATH_ROW = {"question": "Simplify.", "expected_answer": "\\sin^2 x + \\cos^2 x + y"}


def verify(url, text, row):
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    body = {
        "responses_create_params": {"input": "Solve it."},
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
    }
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
    request = urllib.request.Request(url + "/verify", json.dumps(dict(body, **row)).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)["reward"]


def wait_for(url):
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url + "/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def has_mcp(url):
    """Whether there is such a route: it wants more than an empty POST."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN}
    try:
        urllib.request.urlopen(urllib.request.Request(url + "/mcp", b"{}", headers), timeout=10).close()
    except urllib.error.HTTPError as error:
        return error.code != 404
    return True


def main():
    for url in (CODING, MATH, SWE):
        wait_for(url)
        if has_mcp(url) != MCP:
            sys.exit("MCP at %s is not as it should be: %s" % (url, MCP))
    rewards = [verify(CODING, "```python\nprint(int(input()) %s 2)\n```" % sign, CODE_ROW) for sign in "*+"]
    rewards += [verify(MATH, "\\boxed{%s + y}" % number, MATH_ROW) for number in "12"]
    sys.stdout.write("code: right %s, wrong %s; math: right %s, wrong %s\n" % tuple(rewards))
    return 0 if rewards == [1.0, 0.0, 1.0, 0.0] else 1


sys.exit(main())
