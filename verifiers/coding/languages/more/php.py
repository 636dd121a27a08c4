"""PHP, by its command line interpreter with the extensions that are installed (ctype, iconv, readline, ...)."""

from sandbox_gym.verifiers.coding.languages.language import Language


def _with_tag(code: str) -> str:
    return code if "<?" in code else f"<?php {code}"


PHP = Language(
    name="php",
    aliases=("php8",),
    source="main.php",
    toolchain="/usr/bin/php",
    package="php-cli php-mbstring php-bcmath php-gmp",
    image="polyglot-more",
    version=("/usr/bin/php", "--version"),
    run=(
        *("/usr/bin/php", "-d", "memory_limit=-1", "-d", "display_errors=stderr", "-d", "log_errors=0"),
        *("-d", "zend.assertions=1", "{source}"),
    ),
    whole=_with_tag,
    start_s=0.1,
    memory_extra_mb=32,
    memory_signs=(b"Out of memory",),
)
