"""JavaScript's and TypeScript's tests, by Jest, with Babel's presets `env` and `typescript`: types are not checked."""

import json
from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.javascript import JAVASCRIPT
from sandbox_gym.verifiers.coding.languages.language import literally

_MODULES = "/usr/share/nodejs"
_PRESETS = [[f"{_MODULES}/@babel/preset-env", {"targets": {"node": "current"}}], f"{_MODULES}/@babel/preset-typescript"]
_CONFIG = {
    "rootDir": ".",
    "testRegex": r"\.test\.[jt]sx?$",
    "modulePaths": [_MODULES],
    "transform": {r"\.[cm]?[jt]sx?$": [f"{_MODULES}/babel-jest", {"presets": _PRESETS, "babelrc": False}]},
}
JEST = replace(
    JAVASCRIPT,
    name="jest",
    aliases=(),
    fences=("javascript", "js", "typescript", "ts"),
    source="main.test.ts",
    toolchain="/usr/bin/jest",
    package="jest node-lodash",
    image="polyglot-more",
    version=("/usr/bin/jest", "--version"),
    run=("/usr/bin/jest", "--ci", "-i", "--no-cache", "--config", literally(json.dumps(_CONFIG)), "{source}"),
    run_files={},
    start_s=3.0,
    memory_extra_mb=160,
)
