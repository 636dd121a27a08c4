"""The corpus of the further languages, generated: per language what a program looks like and one body for each way that a
run can end. CMD in `shell` stands for a command without double quotes, dollars and backslashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sandbox_gym.verifiers.coding import Language, language_named

WAYS: Final[Mapping[str, tuple[str, str]]] = {
    "right": ("AC", "passed"),
    "wrong": ("WA", "wrong_answer"),
    "broken": ("CE", "compile_error"),
    "crash": ("RTE", "runtime_error"),
    "spin": ("TLE", "time_limit"),
    "sleep": ("TLE", "time_limit"),
    "hoard": ("MLE", "memory_limit"),
    "flood": ("OLE", "output_limit"),
}
"""By the name of a body: the contest's verdict and the test's status. What is not compiled breaks at run time."""


@dataclass(frozen=True)
class Sources:
    """One language. `right` prints twice the number that it reads; `BODY` in `around` stands for a body."""

    right: str
    broken: str
    crash: str
    spin: str
    sleep: str
    hoard: str
    flood: str
    shell: str
    around: str = "BODY\n"

    @property
    def wrong(self) -> str:
        return self.right.replace("2", "3", 1)

    def program(self, way: str, command: str = "") -> str:
        return self.around.replace("BODY", str(getattr(self, way))).replace("CMD", command)


def expected(language: Language, way: str) -> tuple[str, str]:
    return WAYS["crash"] if way == "broken" and not language.compile else WAYS[way]


def named(name: str) -> Language:
    language = language_named(name)
    assert language is not None
    return language


PROGRAMS: Final[Mapping[str, Sources]] = {
    "php": Sources(
        around="<?php\nBODY\n",
        right='$n = trim(fgets(STDIN)); echo ctype_digit($n) ? 2 * $n : "no digits", "\\n";',
        broken="echo 1 +;",
        crash='throw new Exception("x");',
        spin="while (true) {}",
        sleep="sleep(60);",
        hoard='$a = []; while (true) $a[] = str_repeat("x", 1 << 20);',
        flood='while (true) echo str_repeat("y", 65536);',
        shell='passthru("CMD");',
    ),
    "ruby": Sources(
        right="puts 2 * gets.to_i",
        broken="puts (1 +",
        crash='raise "x"',
        spin="loop {}",
        sleep="sleep 60",
        hoard='a = []; loop { a << "x" * (1 << 20) }',
        flood='loop { print "y" * 65536 }',
        shell='system("CMD")',
    ),
    "perl": Sources(
        right='print 2 * <STDIN>, "\\n";',
        broken="print (1 +;",
        crash='die "x";',
        spin="1 while 1;",
        sleep="sleep 60;",
        hoard='my @a; push @a, "x" x (1 << 20) while 1;',
        flood='print "y" x 65536 while 1;',
        shell='system("CMD");',
    ),
    "lua": Sources(
        right='print(2 * io.read("n"))',
        broken="print(1 +)",
        crash='error("x")',
        spin="while true do end",
        sleep='os.execute("sleep 60")',
        hoard='local a = {} while true do a[#a + 1] = string.rep("x", 1 << 20) .. #a end',
        flood='while true do io.write(string.rep("y", 65536)) end',
        shell='os.execute("CMD")',
    ),
    "r": Sources(
        right='cat(2L * as.integer(readLines(file("stdin"), 1)), "\\n", sep = "")',
        broken="cat(1 + )",
        crash='stop("x")',
        spin="repeat {}",
        sleep="Sys.sleep(60)",
        hoard="a <- list(); repeat a[[length(a) + 1]] <- numeric(131072) + 1",
        flood='repeat cat(strrep("y", 65536))',
        shell='system("CMD")',
    ),
    "scala": Sources(
        around="object Main { def main(args: Array[String]): Unit = {\nBODY\n} }\n",
        right="println(2 * scala.io.StdIn.readInt())",
        broken='val x: Int = "s"',
        crash='throw new RuntimeException("x")',
        spin="while (true) {}",
        sleep="Thread.sleep(60000)",
        hoard="var a = List[Array[Byte]](); while (true) a = Array.fill(1 << 20)(1.toByte) :: a",
        flood='while (true) print("y" * 65536)',
        shell='import scala.sys.process._; Seq("sh", "-c", "CMD").!',
    ),
    "d": Sources(
        around="import std.stdio, std.conv, std.string, std.array, std.process, core.thread, core.time, core.atomic;\n"
        "shared int counter;\nvoid main() {\nBODY\n}\n",
        right="writeln(2 * readln().strip.to!int);",
        broken='int x = "s";',
        crash='throw new Exception("x");',
        spin='for (;;) atomicOp!"+="(counter, 1);',
        sleep="Thread.sleep(60.seconds);",
        hoard="ubyte[][] a; for (;;) { a ~= new ubyte[1 << 20]; a[$ - 1][] = 1; }",
        flood='for (;;) write("y".replicate(65536));',
        shell='executeShell("CMD").output.write;',
    ),
    "racket": Sources(
        around="#lang racket\nBODY\n",
        right="(displayln (* 2 (read)))",
        broken="(displayln (+ 1",
        crash='(error "x")',
        spin="(let loop () (loop))",
        sleep="(sleep 60)",
        hoard="(let loop ([a '()]) (loop (cons (make-bytes 1048576 1) a)))",
        flood="(let loop () (display (make-string 65536 #\\y)) (loop))",
        shell='(system "CMD")',
    ),
    "kotlin": Sources(
        around="fun main() {\nBODY\n}\n",
        right="println(2 * readln().trim().toInt())",
        broken='val x: Int = "s"',
        crash='throw RuntimeException("x")',
        spin="while (true) {}",
        sleep="Thread.sleep(60000)",
        hoard="val a = ArrayList<ByteArray>(); while (true) { val b = ByteArray(1 shl 20); b.fill(1); a.add(b) }",
        flood='while (true) print("y".repeat(65536))',
        shell='ProcessBuilder("sh", "-c", "CMD").inheritIO().start().waitFor()',
    ),
    "swift": Sources(
        around="import Foundation\nvar counter = 0\nBODY\n",
        right="print(2 * Int(readLine()!)!)",
        broken='let x: Int = "s"',
        crash='fatalError("x")',
        spin="while true { counter &+= 1 }",
        sleep="sleep(60)",
        hoard="var a = [[UInt8]](); while true { a.append([UInt8](repeating: 1, count: 1 << 20)) }",
        flood='let y = String(repeating: "y", count: 65536); while true { print(y) }',
        shell='system("CMD")',
    ),
    "haskell": Sources(
        around="import Control.Concurrent\nimport System.Process\nmain :: IO ()\nmain = BODY\n",
        right="readLn >>= \\n -> print (2 * n :: Int)",
        broken='print (1 + "s" :: Int)',
        crash='error "x"',
        spin="mapM_ (\\i -> if i < 0 then print i else return ()) [0 :: Integer ..]",
        sleep="threadDelay 60000000",
        hoard="let xs = [1 :: Integer ..] in print (length xs) >> print (sum xs)",
        flood="let l = putStr (replicate 65536 'y') >> l in l",
        shell='callCommand "CMD"',
    ),
    "ocaml": Sources(
        around="let () = BODY\n",
        right='Printf.printf "%d\\n" (2 * int_of_string (String.trim (input_line stdin)))',
        broken='let x : int = "s" in ignore x',
        crash='failwith "x"',
        spin="while true do () done",
        sleep="Unix.sleep 60",
        hoard="let a = ref [] in while true do a := Bytes.make 1048576 'x' :: !a done",
        flood="while true do print_string (String.make 65536 'y') done",
        shell='ignore (Sys.command "CMD")',
    ),
    "verilog": Sources(
        around="module main;\ninteger n, r;\ninitial begin\nBODY\nend\nendmodule\n",
        right='r = $fscanf(\'h8000_0000, "%d", n); $display("%0d", 2 * n);',
        broken="undeclared = 1;",
        crash='$fatal(1, "x");',
        spin="r = 0; forever r = r + 1;",
        sleep="",
        hoard="begin : big reg [63:0] m [0:200000000]; m[0] = n; end",
        flood='forever $display("' + "y" * 1000 + '");',
        shell="",
    ),
}
"""Verilog knows neither time of the machine nor commands."""
