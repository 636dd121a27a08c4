"""TypeScript: checked and translated by tsc, run by Node.js.

tsc knows the language, not Node.js; without the package of Node.js's types an answer's `require`, `process` and imports
of Node.js's modules are of any type.
"""

from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.javascript import NODE_FILES, NODE_RUN
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
    " --skipDefaultLibCheck --experimentalDecorators --pretty false --outDir ."
)
"""The language's own library is not checked anew for each answer."""
NODE_TYPES: Final = "sandbox_gym_node.d.ts"
_NODE = b"""
declare module "*";
declare module "fs" {
  interface FileBytes {
    toString(encoding?: any): string; length: number; [Symbol.iterator](): IterableIterator<number>;
    [name: string]: any;
  }
  export function readFileSync(path: any, options: any): string;
  export function readFileSync(path: any): FileBytes;
  export const open: any, openSync: any, close: any, closeSync: any, read: any, readSync: any, readFile: any,
    write: any, writeSync: any, writeFile: any, writeFileSync: any, appendFile: any, appendFileSync: any,
    exists: any, existsSync: any, stat: any, statSync: any, fstatSync: any, lstatSync: any, access: any,
    accessSync: any, mkdir: any, mkdirSync: any, mkdtempSync: any, readdir: any, readdirSync: any, rm: any,
    rmSync: any, rmdirSync: any, unlink: any, unlinkSync: any, rename: any, renameSync: any, copyFile: any,
    copyFileSync: any, cpSync: any, chmodSync: any, realpathSync: any, symlinkSync: any, truncateSync: any,
    fsyncSync: any, watch: any, createReadStream: any, createWriteStream: any, constants: any, promises: any,
    Stats: any, Dirent: any, ReadStream: any, WriteStream: any;
  export type Stats = any; export type Dirent = any; export type ReadStream = any; export type WriteStream = any;
  export type PathLike = any; export type PathOrFileDescriptor = any;
}
declare module "node:fs" { export * from "fs"; }
declare var require: any, module: any, exports: any, process: any, global: any, console: any, performance: any;
declare var Buffer: any, URL: any, TextEncoder: any, TextDecoder: any, AbortController: any;
declare var __dirname: string, __filename: string;
declare function setTimeout(...given: any[]): any;
declare function setInterval(...given: any[]): any;
declare function setImmediate(...given: any[]): any;
declare function clearTimeout(timer?: any): void;
declare function clearInterval(timer?: any): void;
declare function clearImmediate(timer?: any): void;
declare function queueMicrotask(task: () => void): void;
declare function structuredClone<T>(value: T, options?: any): T;
type Buffer = any; type URL = any;
declare namespace NodeJS {
  type Timeout = any; type Timer = any; type Immediate = any; type ErrnoException = any; type Process = any;
  type ReadableStream = any; type WritableStream = any; type ReadWriteStream = any; type ReadStream = any;
}
interface ReadonlyArray<T> {
  findLast(test: (value: T, index: number, all: readonly T[]) => unknown, self?: any): T | undefined;
  findLastIndex(test: (value: T, index: number, all: readonly T[]) => unknown, self?: any): number;
  toSorted(compare?: (a: T, b: T) => number): T[];
  toReversed(): T[];
  toSpliced(start: number, count?: number, ...items: T[]): T[];
  with(index: number, value: T): T[];
}
interface Array<T> {
  findLast(test: (value: T, index: number, all: T[]) => unknown, self?: any): T | undefined;
  findLastIndex(test: (value: T, index: number, all: T[]) => unknown, self?: any): number;
  toSorted(compare?: (a: T, b: T) => number): T[];
  toReversed(): T[];
  toSpliced(start: number, count?: number, ...items: T[]): T[];
  with(index: number, value: T): T[];
}
"""
"""What Node.js has, not a browser, with methods of arrays that are newer than tsc. What a program reads is text: of any
type, the items of `new Set(lines)` and of a generic function's parameter would be `unknown`."""
_NODE_OPTIONS: Final = (
    "--target es2020 --lib esnext --moduleDetection force --esModuleInterop --moduleResolution node"
    " --skipDefaultLibCheck --experimentalDecorators --pretty false --outDir ."
)
_OF_NODES_TYPES: Final = "2347|2503|2694|2709"
"""Errors that a module without types makes of the names of its types."""
_BUILD = (
    f'tsc() {{ if [ -r {WARM} ]; then /usr/bin/node --no-warnings --snapshot-blob {WARM} tsc "$@" 2>/dev/null; code=$?;'
    ' case $code in 40|41|42) return $((code - 40));; esac; fi; /usr/bin/tsc "$@"; };'
    f' check() {{ said=$(tsc "$@"); code=$?; [ $code -lt 128 ] || exit $code; return $code; }};'
    f' printf "%s" "$3" > ambient.d.ts; check {OPTIONS} "$1" ambient.d.ts && exec mv main.js "$2"; first=;'
    " case $said in *TS1378*|*TS1432*|*TS1375*) module=esnext;; *) module=commonjs;; esac;"
    " for strict in false true; do"
    f' rm -f main.js; check {_NODE_OPTIONS} --module $module --strict $strict "$1" {NODE_TYPES};'
    ' case $? in 0|2) printf "%s\\n" "$said" | grep "error TS" |'
    f' grep -Evq "error TS({_OF_NODES_TYPES}):" || exec mv main.js "$2";; esac;'
    ' first="${first:-$said}"; done; printf "%s\\n" "$first"; exit 2'
)
"""A type error is the answer's only where it is none on Node.js either: among a browser's names `name` and `class Node`
are taken, and its library is of another year. So a program that is refused is checked once more as a module on Node.js
(alone there, as its file is when it runs), and with `strict`, without which some unions are not told apart."""
_LOADED = """
const fs = require("fs"), ts = require("/usr/share/nodejs/typescript");
const options = { target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS, esModuleInterop: true };
"""
_TRANSLATE = f"""{_LOADED}
const [, source, artifact] = process.argv;
const as = (module) => ts.transpileModule(fs.readFileSync(source, "utf8"), {{
  compilerOptions: {{ ...options, ...module }}, fileName: source, reportDiagnostics: true }});
let made = as({{}});
try {{ new Function(made.outputText); }} catch (error) {{
  if (/\\bawait\\b/.test(error.message)) made = as({{ module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }});
}}
const host = {{ getCanonicalFileName: (name) => name, getCurrentDirectory: () => ".", getNewLine: () => "\\n" }};
process.stderr.write(ts.formatDiagnostics(made.diagnostics, host));
fs.writeFileSync(artifact, made.outputText);
process.exit(made.diagnostics.length ? 1 : 0);
"""
"""A translation without a check of types, as of one file; a module where it awaits at its top level."""
_BESIDE = f"""
require.extensions[".ts"] = (module, file) => {{ {_LOADED}
module._compile(ts.transpileModule(fs.readFileSync(file, "utf8"), {{ compilerOptions: options }}).outputText, file); }};
"""
"""The same of files beside it, when the program loads them."""
TYPESCRIPT = Language(
    name="typescript",
    aliases=("ts",),
    fences=("tsx", "javascript", "js"),
    source="main.ts",
    toolchain="/usr/bin/tsc",
    package="node-typescript nodejs",
    version=("/usr/bin/tsc", "--version"),
    compile=("/bin/sh", "-c", literally(_BUILD), "build", "{source}", "{artifact}", literally(_AMBIENT)),
    artifact="compiled.js",
    build_files={NODE_TYPES: _NODE},
    several="alone",
    run=(*NODE_RUN, "{artifact}"),
    run_files=NODE_FILES,
    time_factor=1.5,
    start_s=0.2,
    memory_extra_mb=96,
    memory_signs=(b"JavaScript heap out of memory", b"Array buffer allocation failed"),
)
TYPESCRIPT = replace(
    TYPESCRIPT,
    asserting=replace(
        TYPESCRIPT,
        compile=("/usr/bin/node", "-e", literally(_TRANSLATE), "{source}", "{artifact}"),
        run_files={name: content + _BESIDE.encode() for name, content in NODE_FILES.items()},
    ),
)
