"""What a path of a patch means: refused, a test, test configuration, a startup file. No file is looked at."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from posixpath import basename

_MAX_PATH = 4096
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "e2e", "__tests__", "__mocks__"})
_SPECS = (".rb", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".php")
"""Of whose tests `spec` is the folder; in other languages it may hold the code."""
_SETTINGS = """conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml setup.cfg pyproject.toml
    noxfile.py .coveragerc runtests.py package.json .npmrc .yarnrc .yarnrc.yml .rspec phpunit.xml phpunit.xml.dist
    CTestCustom.cmake Gemfile go.mod go.work .gitattributes"""
_CONFIG = frozenset(_SETTINGS.split())
_OTHER_CONFIG = re.compile(
    r"(?:^|/)(?:(?:jest|vite|vitest|playwright|cypress|ava|karma|babel)"
    r"\.(?:conf|config|setup|preset|workspace)\.[a-z]{2,4}"
    r"|\.(?:mocharc|jestrc|taprc|nycrc|babelrc|swcrc)(?:\.[a-z]{2,4})?"
    r"|\.cargo/config(?:\.toml)?|\.(?:mvn|yarn|bundle)/.*|\.pnp\.[a-z]{2,4})$"
)
"""Of runners of JavaScript, Rust, Ruby and Java, and of what they translate tests with."""
_TEST_FILES = re.compile(
    r"[._-](?:test|spec)s?\.[cm]?[jt]sx?$|_(?:test|spec)\.rb$|(?:^|/)test_[^/]*\.(?:rb|c|cc|cpp|rs)$"
    r"|_(?:test|unittest)\.(?:c|cc|cpp|rs|dart|exs)$"
)
"""Of languages that keep tests beside the code."""
_LIBRARIES = re.compile(
    r"(?:^|/)(?:node_modules|org/(?:junit|testng|hamcrest|assertj|mockito)|junit/framework|lib/(?:rspec|minitest)"
    r"|vendor/(?:bin|phpunit|bundle|composer|github\.com/stretchr))(?:/|\.rb$)"
)
"""What tests check with, where the code of a repository would be found before the installed one."""
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "rake": ("Rakefile",),
    "just": ("justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "grunt": ("Gruntfile.js", "Gruntfile.cjs"),
    "gulp": ("gulpfile.js", "gulpfile.mjs", "gulpfile.cjs"),
    "composer": ("composer.json",),
    "invoke": ("tasks.py",),
}
"""Of programs that run what a file says, the files' names."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_WRAPPING = """bash sh dash zsh env time exec timeout nice nohup sudo run python python3 node ruby perl php deno bun npm
    npx yarn pnpm uv poetry pipenv bundle xvfb-run"""
_WRAPPERS = frozenset(_WRAPPING.split())
"""Programs that run what follows them."""
_BUILDS = re.compile(
    r"(?:^|/)(?:(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|pom\.xml|Cargo\.toml|build\.(?:rs|sbt|xml|zig)"
    r"|CMakeLists\.txt|meson\.build|BUILD(?:\.bazel)?|Package\.swift|tsconfig(?:\.\w+)?\.json|composer\.json|(?:buildSrc|gradle)/.*"
    r"|[^/]+\.(?:cmake|csproj|props|targets|gemspec|sbt))$|(?:^|/)(?:GNUm|M|m)akefile$"
)
_STARTUP = frozenset({"sitecustomize.py", "usercustomize.py"})
_STARTUP_FOLDERS = frozenset({"sitecustomize", "usercustomize"})
_RUNNERS = frozenset({"pytest", "_pytest", "py", "pluggy", "unittest", "iniconfig", "packaging", "nose", "coverage"})
_INSTALLED = ("site-packages", "dist-packages")
_ENTRY_POINTS = (".egg-info", ".dist-info", ".egg-link")


def refusal(path: str) -> str:
    """Why no patch may touch the path; empty when one may."""
    if not path:
        return "it is empty"
    if len(path) > _MAX_PATH:
        return f"it is longer than {_MAX_PATH} characters"
    if "\0" in path:
        return "it holds a NUL"
    if path.startswith("/"):
        return "it is absolute"
    parts = path.split("/")
    if ".." in parts:
        return "it leaves the repository with .."
    if any(_is_git(part) for part in parts):
        return "it is inside .git"
    return ""


def _is_git(part: str) -> bool:
    """Names that some file system takes for `.git`; the list is git's own (is_hfs_dotgit, is_ntfs_dotgit)."""
    bare = "".join(char for char in part if char.isprintable()).lower().rstrip(". ")
    return bare in (".git", "git~1") or bare.startswith(".git:")


def is_test(path: str) -> bool:
    """Whether the path looks like a test's: in a folder of tests, or named as pytest's, Django's and Go's are."""
    return _is_python_test(basename(path)) or is_go_test(path) or bool(folder_of_tests(path))


def is_doctest(test_id: str) -> bool:
    """Whether an id of pytest's is of a docstring in code, by its module's name: `src/a/b.py::a.b.f`. One in a test's
    file is a test as any other there."""
    path, colons, name = test_id.partition("::")
    if not colons or not path.endswith(".py") or is_test(path):
        return False
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return any(f"{name}.".startswith(".".join(parts[start:]) + ".") for start in range(len(parts)))


def _is_python_test(name: str) -> bool:
    return name.endswith(".py") and (
        name.startswith("test_") or name.endswith(("_test.py", "_tests.py")) or name in ("tests.py", "conftest.py")
    )


def is_go_test(path: str) -> bool:
    """Whether Go compiles it with its package's tests: its `TestMain` runs them all, and no name may be there twice."""
    return path.endswith("_test.go")


def is_test_file(path: str) -> bool:
    """Whether a runner may find tests in the path by its name. In Python a folder's name says less: `django/test` and
    `testing` are code."""
    if path.endswith(".py"):
        return _is_python_test(basename(path))
    return _TEST_FILES.search(path) is not None or is_test(path)


def is_library(path: str) -> bool:
    """Whether the path would stand for, or is, an installed library that tests check with."""
    return _LIBRARIES.search(path) is not None


def run_by(command: str) -> tuple[frozenset[str], frozenset[str]]:
    """The files of the repository that a shell command runs, and the names of those that its programs run."""
    paths, names = set[str](), set[str]()
    for part in re.split(r"[;&|()\n]+", command):
        wrapped = False
        for word in (word.strip("'\"") for word in part.split()):
            names.update(_COMMANDS.get(basename(word), ()))
            if word in ("-m", "-c"):
                break
            named = "/" in word and not word.startswith(("/", "-"))
            if basename(word) in _WRAPPERS and not named:
                wrapped = True
            elif not (word.startswith("-") or word.isdigit() or _ASSIGNMENT.match(word)):
                if posixpath.splitext(word)[1] or word.startswith("./") or (named and not wrapped):
                    paths.add(posixpath.normpath(word))
                break
    return frozenset(path for path in paths if not refusal(path)), frozenset(names)


def is_test_config(path: str) -> bool:
    """Whether a test runner reads the path by itself."""
    return basename(path) in _CONFIG or _OTHER_CONFIG.search(path) is not None or is_startup(path) or is_shadow(path)


def is_build(path: str) -> bool:
    """Whether the path says how code and tests are built, and may say what a test is: a fix may need it changed."""
    return _BUILDS.search(path) is not None


def is_startup(path: str) -> bool:
    """Whether an interpreter or pytest may load the path at its start, before any test: where it is on the path."""
    name = basename(path)
    parts = path.split("/")
    if name in _STARTUP or name.endswith(".pth") or any(part in _STARTUP_FOLDERS for part in parts[:-1]):
        return True
    return any(part in _INSTALLED or part.endswith(_ENTRY_POINTS) for part in parts)


def is_shadow(path: str) -> bool:
    """Whether the path takes the name of a test runner's own module or command, where an import would find it."""
    parts = path.split("/")
    if parts[-1] in ("pytest", "py.test") and len(parts) > 1 and parts[-2] == "bin":
        return True
    return top_of(path).removesuffix(".py") in _RUNNERS


def top_of(path: str) -> str:
    """The name under which an import would find the path: its first part, or the one after `src/` or `lib/`."""
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "lib") and len(parts) > 1 else parts[0]


def folder_of_tests(path: str) -> str:
    """The folder of tests that a test file is in, with its slash: `a/tests/b/test_c.py` -> `a/tests/`; else empty."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        if part in _TEST_FOLDERS or (part == "spec" and path.endswith(_SPECS)):
            return "/".join(parts[: index + 1]) + "/"
    return ""


def folders_of_tests(paths: Iterable[str]) -> tuple[str, ...]:
    """Every folder of tests of the paths, each once."""
    return tuple(dict.fromkeys(folder for folder in map(folder_of_tests, paths) if folder))
