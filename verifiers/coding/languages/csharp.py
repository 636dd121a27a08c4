"""C#, by Mono.

Mono's own listener says nothing of an assertion that fails; .NET ends the program with exit code 134, and so do we
where assertions are on, by a listener that is compiled in. There the namespaces that .NET's projects use without
saying so are in use, too.
"""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

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
        *("/usr/bin/mcs", "-nologo", "-warn:0", "-optimize+", "-langversion:latest"),
        *("-r:System.Numerics.dll", "-r:System.Core.dll", "-out:{artifact}", "{source}"),
    ),
    artifact="main.exe",
    several="listed",
    run=("/usr/bin/mono", "{artifact}"),
    time_factor=1.5,
    start_s=0.3,
    memory_extra_mb=64,
    memory_signs=(b"System.OutOfMemoryException",),
)
_IMPLICIT = "".join(
    f"using {name}; "
    for name in ("System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Threading")
)


def _with_usings(code: str) -> str:
    """In the first line, so that the compiler's line numbers are the source's; directives must come before them."""
    return code if code.lstrip("\ufeff \t\r\n").startswith("#") else f"{_IMPLICIT}using System.Threading.Tasks; {code}"


CSHARP = replace(
    _CSHARP,
    asserting=replace(
        _CSHARP,
        whole=_with_usings,
        compile=(*_CSHARP.compile, "-define:DEBUG", "-define:TRACE", _LISTENER_FILE),
        build_files={_LISTENER_FILE: _LISTENER},
        run_files={_CONFIG_FILE: _CONFIG},
    ),
)
