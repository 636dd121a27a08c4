"""C#, by Mono."""

from sandbox_gym.verifiers.coding.languages.language import Language

CSHARP = Language(
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
    run=("/usr/bin/mono", "{artifact}"),
    time_factor=1.5,
    start_s=0.3,
    memory_extra_mb=64,
    memory_signs=(b"System.OutOfMemoryException",),
)
