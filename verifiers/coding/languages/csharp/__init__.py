"""C#, by Mono. Its compiler reads C# 7: what it refuses is rewritten and compiled once more (lowering.py).

Mono's own listener says nothing of an assertion that fails; .NET ends the program with exit code 134, and so do we
where assertions are on, by a listener that is compiled in. There the namespaces that .NET's projects use without
saying so are in use, too.
"""

import inspect
import re
from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.csharp import (
    forms,
    local_functions,
    lowering,
    patterns,
    records,
    targets,
    texts,
    tokens,
)
from sandbox_gym.verifiers.coding.languages.csharp.library import LIBRARY
from sandbox_gym.verifiers.coding.languages.language import Language

_LOWERING_FILE, _LIBRARY_FILE = "sandbox_gym_lowering.py", "SandboxGymLater.cs"
_IMPORTS: Final = re.compile(r"^from (?:__future__|sandbox_gym\S*) import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
SCRIPT: Final = "".join(
    _IMPORTS.sub("", inspect.getsource(part))
    for part in (tokens, texts, forms, targets, records, patterns, local_functions, lowering)
)
"""What rewrites and compiles, for the box, where the parts are one file."""
_LISTENER_FILE, _CONFIG_FILE = "SandboxGymListener.cs", "main.exe.config"
_LISTENER = b"""
namespace SandboxGym {
    public sealed class FailingListener : System.Diagnostics.TraceListener {
        public override void Fail(string message) { Fail(message, null); }
        public override void Fail(string message, string detail) {
            System.Console.Out.Flush();
            System.Console.Error.WriteLine("Process terminated. Assertion failed.");
            foreach (var line in new[] { message, detail })
                if (!string.IsNullOrEmpty(line)) System.Console.Error.WriteLine(line);
            System.Console.Error.WriteLine(new System.Diagnostics.StackTrace(1, true));
            System.Environment.Exit(134);
        }
        public override void Write(string message) { }
        public override void WriteLine(string message) { }
    }
}
"""
_CONFIG = b"""<configuration><system.diagnostics><trace><listeners>
<remove name="Default"/><add name="failing" type="SandboxGym.FailingListener, main"/>
</listeners></trace></system.diagnostics></configuration>
"""
_CSHARP = Language(
    name="csharp",
    aliases=("c#", "cs", "mono"),
    source="main.cs",
    toolchain="/usr/bin/mcs",
    package="mono-mcs mono-runtime libmono-system-numerics4.0-cil libmono-system-core4.0-cil",
    version=("/usr/bin/mcs", "--version"),
    compile=(
        *("/usr/bin/python3", "-I", _LOWERING_FILE, "{artifact}", "{source}", "--", _LIBRARY_FILE),
        *("/usr/bin/mcs", "-nologo", "-warn:0", "-optimize+", "-langversion:latest"),
        *("-r:System.Numerics.dll", "-r:System.Core.dll"),
    ),
    build_files={_LOWERING_FILE: SCRIPT.encode(), _LIBRARY_FILE: LIBRARY.encode()},
    artifact="main.exe",
    several="named",
    run=("/usr/bin/mono", "{artifact}"),
    time_factor=1.5,
    start_s=0.3,
    memory_extra_mb=64,
    memory_signs=(b"System.OutOfMemoryException",),
)
CSHARP = replace(
    _CSHARP,
    asserting=replace(
        _CSHARP,
        whole=lowering.with_usings,
        compile=(*_CSHARP.compile, "-define:DEBUG", "-define:TRACE", _LISTENER_FILE),
        build_files={**_CSHARP.build_files, _LISTENER_FILE: _LISTENER},
        run_files={_CONFIG_FILE: _CONFIG},
    ),
)
