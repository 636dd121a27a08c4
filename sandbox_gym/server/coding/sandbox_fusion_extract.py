"""The code of a completion, as SandboxFusion's /submit takes it: by the request's own program, run in a sandbox, else
the language's last fenced block, else what there is."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.server.coding.sandbox_fusion import FusionTools, encoded_files
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionExtra
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.verifiers import bounded
from sandbox_gym.verifiers.coding import PYTHON, Language, blocks_of, extract_code, language_named

Kind = Literal["fenced", "incomplete_fenced", "heuristic", "empty"]
_DEFINES: Final = re.compile(r"^(?:async def|def|class) ", re.MULTILINE)
_DEFINED: Final = re.compile(
    r"\b(?:def|function|sub|fn|func|fun|class|struct|interface|trait|enum|record|object|module|const|let|var)\s{1,9}"
    r"(?:\([^()]{0,200}\)\s{0,9})?([A-Za-z_]\w{0,99})|\b([A-Za-z_]\w{0,99})\s{0,9}\([^;{}()]{0,500}\)[\w\s,.:&*-]{0,200}\{"
    r"|\b([A-Za-z_]\w{0,99})\s{0,9}(?:<-|=)\s{0,9}function\b|\(define\s+\(?([^\s()]{1,100})"
)
_KEYWORDS: Final = frozenset(
    {"if", "for", "while", "switch", "catch", "foreach", "using", "lock", "main", "Main", "test"}
)
_CODE: Final = bounded.Bounds(size_bytes=32 << 20)
_LOGIC: Final = """
import json
class CodeBlock:
    def __init__(self, priority, code, language=""):
        self.priority, self.code, self.language = priority, code, language
blocks = []
def submit_code_blocks(given):
    blocks.extend(given)
completion = open("completion.txt", encoding="utf-8", newline="").read()
exec(compile(open("logic.txt", encoding="utf-8").read(), "custom_extract_logic", "exec"))
code = max(blocks, key=lambda block: block.priority).code if blocks else ""
json.dump(code, open("code.json", "w"))
"""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A completion's code, and how it was found; None by the request's own program."""

    code: str
    kind: Kind | None


def marked_as(name: object, language: Language) -> Language:
    """By whose tags an answer's blocks are known: those of the language that it is written in, also of one that is
    only read here."""
    if not isinstance(name, str) or not name:
        return language
    named = language_named(name)
    if named is not None:
        return language if named.name in language.fences else named
    tags = ("jsx", "tsx", "javascript", "js", "typescript", "ts") if name == "react" else ()
    return replace(PYTHON, name=name.lower(), aliases=(), fences=tags)


def extracted(completion: str, language: Language, *, program: bool, extra: FusionExtra, test: str = "") -> Extracted:
    """A block that says its language goes before one without a tag, which is what the program prints, or how to run it;
    and where a function is asked for, one that defines something (which the test calls) before one that calls it.
    The request may say which block counts, or that all do."""
    closed = blocks_of(completion, language)
    tags = {*language.tags, *language.fences}
    tagged = [body for tag, body in closed if tag.partition(" ")[0].lower().strip("{.}") in tags]
    chosen = _chosen(tagged or [body for _, body in closed], extra)
    if chosen is not None:
        return Extracted(chosen, "fenced" if chosen.strip() else "empty")
    defining = [body for body in tagged if not program and _DEFINES.search(body)]
    tagged = defining if defining and PYTHON.name in tags else _called(tagged, test)
    code = tagged[-1] if tagged else extract_code(completion, language) or ""
    if not code.strip():
        return Extracted("", "empty")
    if closed:
        return Extracted(code, "fenced")
    return Extracted(code, "incomplete_fenced" if re.search("```|~~~", completion) else "heuristic")


def _called(blocks: list[str], test: str) -> list[str]:
    """Those that define what a test calls; all where none does."""
    if len(blocks) < 2:
        return blocks
    wanted = set(re.findall(r"[A-Za-z_]\w*", test)) - _defined(test) - _KEYWORDS
    return [body for body in blocks if not wanted.isdisjoint(_defined(body))] or blocks


def _defined(code: str) -> set[str]:
    return {name for found in _DEFINED.findall(code) for name in found if name}


def _chosen(blocks: Sequence[str], extra: FusionExtra) -> str | None:
    """By AutoEval's options; None where there are none, or no blocks."""
    index = extra.code_block_idx
    if not blocks:
        return None
    if isinstance(index, int):
        return blocks[index] if -len(blocks) <= index < len(blocks) else ""
    return {"first": blocks[0], "all": "\n".join(blocks)}.get(str(extra.autoeval_extract_code_mode))


def fenced_language(completion: str, language: Language) -> Language:
    """That of the last block whose tag is one; else the one that is given."""
    named = (language_named(tag.partition(" ")[0]) for tag, _ in reversed(blocks_of(completion, language)))
    return next((one for one in named if one is not None), language)


async def extracted_by(logic: str, completion: str, tools: FusionTools, engine: Engine, call: ToolCall) -> Extracted:
    """What a program {logic} submits of highest priority. Raises RequestError where it fails."""
    texts = {"logic.txt": logic, "completion.txt": completion}
    files = encoded_files({name: text.encode("utf-8", "replace") for name, text in texts.items()})
    arguments: Document = {"code": _LOGIC, "language": "python", "files": files, "fetch_files": ["code.json"]}
    done = await tools.run_test(engine, replace(call, arguments=arguments))
    code = _told(done["files"].get("code.json", "")) if done["status"] == "Success" else None
    if code is None:
        said = (done["run_result"] or {"stderr": ""})["stderr"].strip().rpartition("\n")[2][:300]
        why = said or "it was killed, or ended its process before its end"
        raise RequestError("config.custom_extract_logic", f"failed: {why}", "submit_code_blocks([CodeBlock(...)])")
    return Extracted(code, None if code.strip() else "empty")


def _told(encoded: str) -> str | None:
    """The code in a file that the program may have written itself; None where it holds none."""
    try:
        code = bounded.loads(base64.b64decode(encoded), _CODE)
    except ValueError:
        return None
    return code if isinstance(code, str) else None
