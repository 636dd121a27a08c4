"""The image's smoke test: every toolchain that it promises says its version."""

import subprocess
import sys

TOOLS = (
    ("/usr/bin/php", "-r", "echo gmp_add(1, 2), bcadd(1, 2), mb_strlen(PHP_VERSION);"),
    ("/usr/bin/ruby", "--version"),
    ("/usr/bin/perl", "-MTest::Deep", "-e", "print $^V"),
    ("/usr/bin/lua5.4", "-l", "luaunit", "-v"),
    ("/usr/bin/Rscript", "--version"),
    ("/usr/bin/scalac", "-version"),
    ("/usr/bin/ldc2", "--version"),
    ("/usr/bin/racket", "--version"),
    ("/usr/local/lib/node_modules/kotlin-compiler/bin/kotlinc", "-version"),
    ("/usr/bin/swiftc", "--version"),
    ("/usr/bin/ghc", "-e", "Data.Vector.sum (Data.Vector.fromList (concat (Data.List.Split.chunksOf 2 [1, 2, 3])))"),
    ("/usr/bin/ocamlopt", "-version"),
    ("/usr/bin/iverilog", "-V"),
    ("/usr/bin/jest", "--version"),
)
for argv in TOOLS:
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    sys.stdout.write("%s: %s\n" % (argv[0], done.stdout.decode("utf-8", "replace").split("\n")[0]))
