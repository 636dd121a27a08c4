"""JavaScript, by Node.js.

Node.js does not wait for a pipe: what `process.exit` finds in its queue is lost, all beyond 64 KiB where the output was
one text. Contests give programs a file. Here the pipe blocks, as other languages' output does.

Nor for its input, once `process.stdin` was named: `readFileSync(process.stdin.fd)` fails where a part is not there yet.
Opened by its path the pipe blocks.

A program that awaits at its top level is a module; releases before 20.20 do not see that of `for await`. It is one
where its source does not compile otherwise, so that nothing of it has run yet.
"""

from typing import Final

from sandbox_gym.verifiers.coding.languages.language import Language

_PRELOADED: Final = "sandbox_gym_preload.cjs"
NODE_FILES: Final = {
    _PRELOADED: b"""for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
{
  const fs = require("fs"), { existsSync, readFileSync } = fs, [, main] = process.argv;
  fs.readFileSync = function (path, ...options) {
    if (path === 0) try { return readFileSync("/dev/stdin", ...options); } catch {}
    return readFileSync(path, ...options);
  };
  require("module").syncBuiltinESMExports();
  const source = main && existsSync(main) ? readFileSync(main, "utf8") : "";
  if (/\\bfor\\s+await\\b/.test(source) && !/^\\s*(?:import|export)\\b/m.test(source)) try {
    require("vm").compileFunction(source, ["require", "module", "exports", "__filename", "__dirname"]);
  } catch (error) {
    if (error.message === "Unexpected reserved word")
      require("module")._extensions[".js"] = () => void import("data:text/javascript," + encodeURIComponent(source));
  }
}
"""
}
NODE_RUN: Final = (
    *("/usr/bin/node", "--stack-size=50000", "--max-old-space-size={memory_mb}"),
    *("--require", f"./{_PRELOADED}"),
)
JAVASCRIPT = Language(
    name="javascript",
    aliases=("js", "node", "nodejs"),
    fences=("jsx", "mjs", "cjs"),
    source="main.js",
    toolchain="/usr/bin/node",
    package="nodejs",
    version=("/usr/bin/node", "--version"),
    run=(*NODE_RUN, "{source}"),
    run_files=NODE_FILES,
    time_factor=1.5,
    start_s=0.2,
    memory_extra_mb=96,
    memory_signs=(b"JavaScript heap out of memory", b"Array buffer allocation failed"),
)
