"""TypeScript: checked and translated by tsc, run by Node.js.

tsc knows the language, not Node.js; without the package of Node.js's types an answer's `require`, `process` and imports
of Node.js's modules are of any type.
"""

from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.javascript import NODE_RUN
from sandbox_gym.verifiers.coding.languages.language import Language, literally

_AMBIENT = (
    "declare var require: any; declare var module: any; declare var process: any; declare var Buffer: any;"
    " declare var __dirname: string; declare var setImmediate: any; type Buffer = any;"
    " declare module 'fs'; declare module 'readline'; declare module 'os'; declare module 'util';"
    " declare module 'assert'; declare module 'path'; declare module 'events'; declare module 'stream';"
    " declare module 'process'; declare module 'perf_hooks'; declare module 'worker_threads'; declare module 'crypto';"
)
WARM: Final = "/opt/sandbox-gym/compilers/typescript/tsc.blob"
"""Where boxes may hold tsc as a start-up snapshot of Node.js."""
OPTIONS: Final = (
    "--target es2020 --module commonjs --lib es2020,dom --esModuleInterop --moduleResolution node --strict false"
    " --skipDefaultLibCheck --pretty false --outDir ."
)
"""The language's own library is not checked anew for each answer."""
_BUILD = (
    f'tsc() {{ if [ -r {WARM} ]; then /usr/bin/node --no-warnings --snapshot-blob {WARM} tsc "$@" 2>/dev/null; code=$?;'
    ' case $code in 40|41|42) return $((code - 40));; esac; fi; /usr/bin/tsc "$@"; };'
    f' printf "%s" "$3" > ambient.d.ts && tsc {OPTIONS} "$1" ambient.d.ts && mv main.js "$2"'
)
_TRANSLATE = r"""
const ts = require("/usr/share/nodejs/typescript"), fs = require("fs"), [, source, artifact] = process.argv;
const options = { target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS, esModuleInterop: true };
const made = ts.transpileModule(fs.readFileSync(source, "utf8"), {
  compilerOptions: options, fileName: source, reportDiagnostics: true });
const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => ".", getNewLine: () => "\n" };
process.stderr.write(ts.formatDiagnostics(made.diagnostics, host));
fs.writeFileSync(artifact, made.outputText);
process.exit(made.diagnostics.length ? 1 : 0);
"""
"""A translation without a check of types, as of one file."""
TYPESCRIPT = Language(
    name="typescript",
    aliases=("ts",),
    fences=("javascript", "js"),
    source="main.ts",
    toolchain="/usr/bin/tsc",
    package="node-typescript nodejs",
    version=("/usr/bin/tsc", "--version"),
    compile=("/bin/sh", "-c", literally(_BUILD), "build", "{source}", "{artifact}", literally(_AMBIENT)),
    artifact="compiled.js",
    several="alone",
    run=(*NODE_RUN, "{artifact}"),
    time_factor=1.5,
    start_s=0.2,
    memory_extra_mb=96,
    memory_signs=(b"JavaScript heap out of memory", b"Array buffer allocation failed"),
)
TYPESCRIPT = replace(
    TYPESCRIPT,
    asserting=replace(TYPESCRIPT, compile=("/usr/bin/node", "-e", literally(_TRANSLATE), "{source}", "{artifact}")),
)
