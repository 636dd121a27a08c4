"""JavaScript, by Node.js."""

from sandbox_gym.verifiers.coding.languages.language import Language

NODE_RUN = ("/usr/bin/node", "--stack-size=50000", "--max-old-space-size={memory_mb}")
JAVASCRIPT = Language(
    name="javascript",
    aliases=("js", "node", "nodejs"),
    source="main.js",
    toolchain="/usr/bin/node",
    package="nodejs",
    version=("/usr/bin/node", "--version"),
    run=(*NODE_RUN, "{source}"),
    time_factor=1.5,
    start_s=0.2,
    memory_extra_mb=96,
    memory_signs=(b"JavaScript heap out of memory", b"Array buffer allocation failed"),
)
