"""How SandboxFusion runs what it is sent, isolation `none` as its local.yaml has it, reproduced to be measured.

For each test: a temporary folder, the source in it, `bash -c "python3 file"` with the server's own environment through
asyncio, wait, then read the pipes. Compiled languages are compiled for each test. All tests of an answer are started at
once, as many as its submit allows; the first that fails cancels the rest. Outputs are compared line by line, in lower
case. Run as `python fusion_server.py PORT`; one worker, as its default.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

RUN_S = 20.0
AT_ONCE = 8
"""Tests of one submit at once: its `max_runner_concurrency`."""
_COMMANDS = {
    "python": ("main.py", "/usr/bin/python3 {file}"),
    "cpp": ("main.cpp", "g++ -O2 -std=c++17 {file} -o {folder}/a"),
}


class Submit(BaseModel):
    """A program and its tests; without tests it is run once and must end well."""

    language: str
    code: str
    inputs: list[str] = []
    outputs: list[str] = []


async def _command(command: str, stdin: bytes, folder: str) -> tuple[int, bytes]:
    process = await asyncio.create_subprocess_exec(
        "/bin/bash",
        "-c",
        command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(RUN_S):
            stdout, _stderr = await process.communicate(stdin)
    except TimeoutError:
        return -1, b""
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, stdout


async def _once(submit: Submit, stdin: str) -> tuple[int, str]:
    name, command = _COMMANDS[submit.language]
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/{name}"
        with open(file, "w") as source:  # noqa: ASYNC230 - small, and as there
            source.write(submit.code)
        filled = command.format(file=file, folder=folder)
        code, stdout = await _command(filled, stdin.encode(), folder)
        if submit.language == "cpp" and code == 0:
            code, stdout = await _command(f"{folder}/a", stdin.encode(), folder)
        return code, stdout.decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    return [line.strip().lower() for line in text.strip().split("\n")]


async def _accepted(submit: Submit) -> bool:
    if not submit.inputs:
        return (await _once(submit, ""))[0] == 0
    slots = asyncio.Semaphore(AT_ONCE)

    async def test(stdin: str, expected: str) -> bool:
        async with slots:
            code, stdout = await _once(submit, stdin)
            return code == 0 and _lines(stdout) == _lines(expected)

    tasks = [asyncio.ensure_future(test(*pair)) for pair in zip(submit.inputs, submit.outputs, strict=True)]
    try:
        for done in asyncio.as_completed(tasks):
            if not await done:
                return False
        return True
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


app = FastAPI()


@app.get("/")
async def alive() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/submit")
async def submit(request: Submit) -> dict[str, bool]:
    return {"accepted": await _accepted(request)}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False)
