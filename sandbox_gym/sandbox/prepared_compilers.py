"""Makes what compilers of a box read instead of doing the same work for each answer. A program of its own: images run
it when they are built, provider local on this machine, `python3 -I prepared_compilers.py FOLDER`; what FOLDER has of a
compiler already stays.

Owns what is made, by which command, and in which files below FOLDER. Knows no answer, and nothing of this package.
What is not made, for want of a compiler or by an error, is left out: compilers then do without. The manifest names the
files of the system that all was made of, for `is_current`.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND_S = 600
RETRY_S = 3600
"""After which it is tried again to make what could not be made."""
MANIFEST = "manifest.json"
GXX = "/usr/bin/g++"
CPP_STANDARDS = ("gnu++17", "gnu++20")
CPP_OPTIONS = ("-O2", "-pipe", "-w")
HEADER = "bits/stdc++.h"
JAVAC = "/usr/bin/javac"
JVM_OPTIONS = ("-J-Xshare:auto", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-Duser.language=en")
JAVAC_OPTIONS = ("-proc:none", "-nowarn", "-encoding", "UTF-8")
JAVA_SOURCE = """
import java.io.*;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Main {
    interface Shape { default double area() { return 0; } }
    enum Kind { A, B }
    static class Box<T extends Comparable<T>> implements Shape {
        final List<T> items = new ArrayList<>();
        T most() { return Collections.max(items); }
        @Override public double area() { return items.size(); }
    }
    static int twice(int n) throws IOException {
        if (n < 0) throw new IOException("negative");
        return n << 1;
    }
    public static void main(String[] args) throws Exception {
        Map<Integer, List<String>> groups = new TreeMap<>(Comparator.reverseOrder());
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line; (line = in.readLine()) != null;)
                groups.computeIfAbsent(line.length(), key -> new ArrayList<>()).add(line.trim());
        } catch (IOException error) {
            throw new IllegalStateException("read: " + error, error);
        }
        PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
        for (var entry : groups.entrySet()) queue.add(new long[] {entry.getKey(), twice(entry.getValue().size())});
        Box<String> box = new Box<>();
        box.items.addAll(Stream.of("a", "b").map(String::toUpperCase).collect(Collectors.toList()));
        switch (Kind.valueOf(box.most())) { case A: break; default: System.out.printf("%d%n", queue.size()); }
    }
}
"""
"""What the compiler is shown to be remembered: what programs of contests use."""
KOTLIN = "/usr/local/lib/node_modules/kotlin-compiler"
KOTLINC = f"{KOTLIN}/bin/kotlinc"
KOTLIN_OPTIONS = (
    *("-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.language=en"),
    *("-Xmx512m", "-cp", f"{KOTLIN}/lib/kotlin-compiler.jar", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"),
    *("-kotlin-home", KOTLIN, "-nowarn"),
)
KOTLIN_SOURCE = """
import java.util.PriorityQueue

sealed class Shape { abstract fun area(): Double }
data class Box(val width: Double, val name: String?) : Shape() { override fun area() = width * width }
enum class Kind { A, B }
interface Named { val name: String get() = "none" }
object Table : Named { val rows = mutableMapOf<Int, MutableList<String>>() }
class Stack<T : Comparable<T>>(private val items: ArrayDeque<T> = ArrayDeque()) {
    operator fun plusAssign(item: T) { items.addLast(item) }
    fun most(): T? = items.maxOrNull()
    companion object { const val MOST = 100 }
}
inline fun <T> List<T>.twice(change: (T) -> T): List<T> = map(change).map { change(it) }
fun IntArray.swap(i: Int, j: Int) { this[i] = this[j].also { this[j] = this[i] } }
fun main() {
    val input = generateSequence(::readLine).toList()
    for ((index, line) in input.withIndex())
        Table.rows.getOrPut(line.length) { mutableListOf() }.add("$index: ${line.trim()}")
    val (first, rest) = input.flatMap { it.split(" ") }.mapNotNull { it.toIntOrNull() }.partition { it % 2 == 0 }
    val queue = PriorityQueue<Pair<Int, Long>>(compareBy({ it.first }, { -it.second }))
    val grid = Array(3) { IntArray(3) { column -> column } }
    grid[0].swap(0, 1)
    rest.sorted().groupingBy { it % 3 }.eachCount().forEach { (key, count) -> queue.add(key to count.toLong()) }
    val stack = Stack<String>()
    stack += buildString { for (row in grid) appendLine(row.joinToString(" ")) }
    val kind = when { first.isEmpty() -> Kind.A; first.size in 1..Stack.MOST -> Kind.B; else -> null }
    try { require(kind != null) { "no kind" } } catch (error: IllegalArgumentException) { println(error.message) }
    val area = (Box(2.0, null) as Shape).area()
    println("${stack.most() ?: Table.name} ${listOf(1L, 2L).twice { it * 2 }.sum()} $area")
    println("%.2f".format(first.sumOf { it.toDouble() }))
    while (queue.isNotEmpty()) queue.poll()?.let { println(it.second) }
}
"""
TSC = "/usr/bin/tsc"
NODE = "/usr/bin/node"
TSC_OPTIONS = (
    *("--target", "es2020", "--module", "commonjs", "--lib", "es2020,dom", "--esModuleInterop"),
    *("--moduleResolution", "node", "--strict", "false", "--skipDefaultLibCheck", "--experimentalDecorators"),
    *("--pretty", "false", "--outDir", "."),
)
TYPESCRIPT_SOURCE = r"""
import * as fs from "fs";
interface Shape { area(): number; readonly name?: string }
enum Kind { A, B = "b" }
type Pair<T> = [T, T] | { [key: string]: T };
abstract class Base<T extends number | string> implements Shape {
  static count = 0;
  constructor(protected items: T[] = [], private seen: Set<T> = new Set()) { Base.count++; }
  abstract area(): number;
  get most(): T | undefined { return this.items.sort((a, b) => (a < b ? -1 : 1)).pop(); }
}
class Box<T extends number | string> extends Base<T> { area(): number { return Base.count; } }
function* lines(text: string): Generator<string, void, undefined> { for (const line of text.split("\n")) yield line; }
async function main(): Promise<void> {
  const data: string = fs.readFileSync(0, "utf8"), memo: Record<string, bigint> = {};
  const groups = new Map<number, string[]>();
  for (const line of lines(data)) groups.set(line.length, [...(groups.get(line.length) ?? []), line.trim()]);
  const [first = 0, ...rest] = data.trim().split(/\s+/).map(Number).filter(n => !isNaN(n));
  const table: number[][] = Array.from({ length: 3 }, () => new Array(3).fill(0));
  const pair: Pair<number> = [first, rest.reduce((a, b) => Math.max(a, b), 0)];
  try { if (rest.length > 1) throw new Error(`no ${first}`); } catch (e: any) { console.error(e?.message, Kind.A); }
  memo["x"] = BigInt(first) ** 2n; table[0][1]++; const wrong: number = "text";
  console.log([...groups.entries()].map(([k, v]) => `${k}:${v.join()}`).join(" "), new Box([1, 2]).most, { pair });
}
main();
"""
"""With one error, so that the text of an error is warm, too."""
TSC_IMAGE = r"""
'use strict';
const fs = require('fs'), LIB = process.argv[2], OPTIONS = JSON.parse(process.argv[3]), SOURCE = process.argv[4];
const file = LIB + '/typescript.js', module_ = { exports: {} };
const head = '(function (exports, require, module, __filename, __dirname) {';
const load = require('vm').runInThisContext(head + fs.readFileSync(file, 'utf8') + '\n})', { filename: file });
load(module_.exports, require, module_, file, LIB);
const ts = module_.exports, libraries = new Map();
let warmed = '';

function compile(args, folder, texts, write) {
  const command = ts.parseCommandLine(args, name => ts.sys.readFile(name));
  const host = ts.createCompilerHost(command.options), parse = host.getSourceFile;
  host.getCurrentDirectory = () => folder;
  const options = JSON.stringify(command.options), usual = warmed === '' || options === warmed;
  host.getSourceFile = (name, version, ...more) => {
    if (usual && libraries.has(name)) return libraries.get(name);
    const text = texts[name];
    const made = text === undefined ? parse(name, version, ...more) : ts.createSourceFile(name, text, version);
    if (warmed === '' && name.startsWith(LIB + '/')) libraries.set(name, made);
    return made;
  };
  if (write) host.writeFile = write;
  let errors = command.errors, skipped = true;
  if (errors.length === 0) {
    const program = ts.createProgram(command.fileNames, command.options, host);
    errors = [...program.getConfigFileParsingDiagnostics(), ...program.getSyntacticDiagnostics()];
    if (errors.length === 0) errors = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
    if (errors.length === 0) errors = [...program.getSemanticDiagnostics()];
    const emitted = program.emit();
    errors.push(...emitted.diagnostics);
    skipped = emitted.emitSkipped;
  }
  const told = ts.sortAndDeduplicateDiagnostics(errors).map(error => ts.formatDiagnostic(error, host));
  return { options, text: told.join(''), code: told.length === 0 ? 0 : skipped ? 1 : 2 };
}

for (let round = 0; round < 3; round++) {
  const texts = { 'main.ts': SOURCE, 'ambient.d.ts': "declare var process: any; declare module 'fs';" };
  const done = compile([...OPTIONS, ...Object.keys(texts)], '/', texts, () => {});
  if (done.code !== 2 || done.text.split('error TS').length !== 2) throw new Error(done.text);
  warmed = done.options;
}
require('v8').startupSnapshot.setDeserializeMainFunction(() => {
  const done = compile(process.argv.slice(2), process.cwd(), {}, undefined);
  fs.writeSync(1, done.text);
  process.exit(40 + done.code);
});
"""
"""tsc by TypeScript's public API, as a start-up snapshot of Node.js: the compiler is loaded, its code is compiled, and
the declarations of the language's own library are parsed and bound. Other options than those it was made with do
without the latter. It exits with 40 beyond tsc's code, which tells its end from that of a Node.js that refuses the
snapshot, as one on another processor does."""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class NotMade(Exception):
    """A command failed."""


def run(folder: Path, *argv: str, stdin: str = "") -> str:
    """What a command prints. Raises NotMade."""
    try:
        done = subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=COMMAND_S, cwd=folder, env=ENVIRONMENT
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotMade(f"{argv[0]}: {error}") from error
    if done.returncode:
        raise NotMade(f"{' '.join(argv)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def cpp(folder: Path) -> list[str]:
    """GCC's precompiled `bits/stdc++.h` for each standard, below a folder that stands before the system's on the search
    path. Beside it lies a header that goes on to the system's: GCC looks for one there when a source includes it once
    more, and where it refuses the precompiled one. Returns the files that it was made of."""
    read: list[str] = []
    for standard in CPP_STANDARDS:
        options = (f"-std={standard}", *CPP_OPTIONS)
        rule = run(folder, GXX, *options, "-M", "-x", "c++", "-", stdin=f"#include <{HEADER}>\n")
        files = [word for word in rule.split() if word.startswith("/")]
        header = next(file for file in files if file.endswith(f"/{HEADER}"))
        made = folder / "cpp" / standard / f"{HEADER}.gch"
        made.parent.mkdir(parents=True)
        run(folder, GXX, *options, "-x", "c++-header", header, "-o", f"{made}.part")
        os.rename(f"{made}.part", made)
        made.with_suffix("").write_text(f"#include_next <{HEADER}>\n")
        read += [GXX, run(folder, GXX, "-print-prog-name=cc1plus").strip(), *files]
    return read


def jdk() -> list[str]:
    """The files of Java that an archive of classes is made of."""
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(JAVAC))), "lib")
    return [JAVAC, f"{library}/modules", f"{library}/server/libjvm.so"]


def archived(made: Path, source: str, text: str, *argv: str) -> None:
    """An archive of a compiler's own classes, as its virtual machine holds them when it has compiled `text`: it maps
    it where it fits, else loads them one by one. In `argv` `ARCHIVE` stands for the option that writes it."""
    made.parent.mkdir()
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:  # goes with what is made where this is killed
        Path(scratch, source).write_text(text, "utf-8")
        options = [one.replace("ARCHIVE", f"-XX:ArchiveClassesAtExit={made}.part") for one in argv]
        run(Path(scratch), *options, "-d", scratch, source)
    os.rename(f"{made}.part", made)


def java(folder: Path) -> list[str]:
    """An archive of javac's classes. Returns the files that it was made of."""
    argv = (JAVAC, "-JARCHIVE", *JVM_OPTIONS, *JAVAC_OPTIONS)
    archived(folder / "java" / "javac.jsa", "Main.java", JAVA_SOURCE, *argv)
    return jdk()


def kotlin(folder: Path) -> list[str]:
    """An archive of kotlinc's classes. Returns the files that it was made of."""
    argv = ("/usr/bin/java", "ARCHIVE", *KOTLIN_OPTIONS)
    archived(folder / "kotlin" / "kotlinc.jsa", "main.kt", KOTLIN_SOURCE, *argv)
    return [KOTLINC, f"{KOTLIN}/lib/kotlin-compiler.jar", *jdk()]


def typescript(folder: Path) -> list[str]:
    """A snapshot of Node.js that holds tsc. Returns the files that it was made of."""
    made = folder / "typescript" / "tsc.blob"
    made.parent.mkdir()
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(TSC))), "lib")
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        Path(scratch, "tsc.js").write_text(TSC_IMAGE, "utf-8")
        snapshot = (NODE, "--no-warnings", "--snapshot-blob", f"{made}.part", "--build-snapshot", "tsc.js")
        run(Path(scratch), *snapshot, library, json.dumps(TSC_OPTIONS), TYPESCRIPT_SOURCE)
    os.rename(f"{made}.part", made)
    return [TSC, NODE, f"{library}/typescript.js", *glob.glob(f"{library}/lib.*.d.ts")]


MAKERS = {GXX: cpp, JAVAC: java, KOTLINC: kotlin, TSC: typescript}
"""By the compiler without which each is left out."""


def signature(path: str) -> list[int]:
    """What changes with a file's content. Raises OSError."""
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def compilers() -> dict[str, list[int]]:
    """The signatures of those that are installed."""
    return {path: signature(path) for path in MAKERS if os.path.exists(path)}


def program() -> str:
    """A digest of this program: another one makes other things of the same files."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def is_current(folder: Path) -> bool:
    """Whether FOLDER was made, of the files that are there now and for all compilers that are installed."""
    try:
        kept = json.loads((folder / MANIFEST).read_text("utf-8"))
        if kept["failures"] and time.time() - (folder / MANIFEST).stat().st_mtime >= RETRY_S:
            return False
        if kept["program"] != program():
            return False
        read = kept["read"]
        return set(compilers()) <= set(read) and all(signature(path) == read[path] for path in read)
    except (OSError, ValueError, KeyError):
        return False


def prepare(folder: Path) -> list[str]:
    """Makes all that can be made and is not in the folder; why the rest was not."""
    started = time.time_ns()
    read, failures = compilers(), []
    for compiler in tuple(read):
        if (folder / MAKERS[compiler].__name__).exists():
            continue
        try:
            read |= {path: signature(path) for path in MAKERS[compiler](folder)}
        except (OSError, StopIteration, NotMade) as error:
            failures.append(str(error))
    if any(changed >= started for _size, _modified, changed in read.values()):
        raise SystemExit("a compiler was changed while this ran")
    (folder / MANIFEST).write_text(json.dumps({"program": program(), "read": read, "failures": failures}), "utf-8")
    return failures


if __name__ == "__main__":
    os.umask(0o022)
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    failed = prepare(target)
    if failed:
        sys.exit("\n".join(failed))
