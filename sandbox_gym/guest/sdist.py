"""Downloads a release's sdist and runs no code of it: `python sdist.py NAME==VERSION FOLDER [FILE]`.

Runs in a build's box under the instance's Python, 3.6 or later; `pip download` would first install the build backend
and ask it for metadata. Reads the file lists (PEP 503 and 691) of the indexes in pip's settings. It knows no keyrings
and no local folders: it then exits with 1 and a line on stderr, and the caller uses pip.
"""

import ast
import base64
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ENDS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5, text/html;q=0.1"
READ_S = 60.0
TRIES = 3


def main(arguments):
    """0 when the sdist is in the folder."""
    name, _, version = arguments[0].partition("==")
    wanted = arguments[2] if len(arguments) > 2 else ""
    problems = []
    for index in indexes():
        try:
            for file, url, digest in listed(index, name):
                if file == wanted or is_sdist(file, name, version):
                    fetch(url, index, digest, os.path.join(arguments[1], os.path.basename(file)))
                    return 0
            problems.append("%s lists no sdist of it" % host_of(index))
        except (OSError, ValueError) as error:
            problems.append("%s: %s" % (host_of(index), error))
    sys.stderr.write("no sdist of %s==%s: %s\n" % (name, version, "; ".join(problems) or "no index is set up"))
    return 1


def indexes():
    """The index URLs in pip's settings."""
    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    listing = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    found = settings_of(listing.decode("utf-8", "replace"))
    if found.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    first = found.get("index-url") or _default()
    every = [first] + found.get("extra-index-url", "").split()
    return [one for one in every if one.startswith(("https://", "http://"))]


def settings_of(listing):
    """The settings of a download in the output of `pip config list`; the environment overrides files."""
    found = {}
    for section in ("global", "install", "download", ":env:"):
        for line in listing.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(section + "."):
                found[name[len(section) + 1 :].replace("_", "-")] = str(ast.literal_eval(value))
    return found


def _default():
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        return ""
    return str(PyPI.simple_url)


def listed(index, name):
    """(file name, URL, sha256 or "") of a project's files."""
    page = "%s/%s/" % (index.rstrip("/"), re.sub(r"[-_.]+", "-", name).lower())
    body, kind, at = read(page, index)
    if "json" in kind:
        for file in json.loads(body.decode("utf-8"))["files"]:
            yield str(file["filename"]), urllib.parse.urljoin(at, file["url"]), file.get("hashes", {}).get("sha256", "")
        return
    for href in _Links(body.decode("utf-8", "replace")).found:
        address, _, fragment = urllib.parse.urljoin(at, href).partition("#")
        file = urllib.parse.unquote(address.rsplit("/", 1)[-1])
        yield file, address, fragment[7:] if fragment.startswith("sha256=") else ""


class _Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def is_sdist(file, name, version):
    """Whether a file name is that of the release's sdist."""
    stem = next((file[: -len(end)] for end in ENDS if file.endswith(end)), "")
    pieces = ((stem[:at], stem[at + 1 :]) for at, sign in enumerate(stem) if sign == "-")
    return any(_plain(left) == _plain(name) and _release(right) == _release(version) for left, right in pieces)


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _release(version):
    """A version in normal form: 1.0 and 1.0.0 are equal, 1.0-rc.1 and 1.0rc1 are equal."""
    plain = re.sub(r"[-_.]?(a|b|rc|post|dev)[-_.]?(?=\d)", r"\1", version.lower().lstrip("v"))
    return re.sub(r"^(\d+(?:\.\d+)*?)(?:\.0)+(?!\.?\d)", r"\1", plain)


def fetch(url, index, digest, target):
    """Download a file. Raises OSError; ValueError where its sha256 is not the index's."""
    body, _kind, _at = read(url, index)
    if digest and hashlib.sha256(body).hexdigest() != digest:
        raise ValueError("%s is not what its index says it is" % os.path.basename(target))
    with open(target, "wb") as file:
        file.write(body)


def read(url, index):
    """(body, content type, URL after redirects). The index's user name and password are sent to its own host only."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Accept": ACCEPT, "Cache-Control": "max-age=0", "User-Agent": "sandbox-gym (instance build)"}
    login = urllib.parse.urlsplit(index)
    if login.username and login.hostname == parts.hostname:
        pair = "%s:%s" % (urllib.parse.unquote(login.username), urllib.parse.unquote(login.password or ""))
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode("utf-8")).decode("ascii")
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(urllib.request.Request(bare, headers=headers), timeout=READ_S) as reply:
                return reply.read(), reply.headers.get("Content-Type", ""), reply.geturl()
        except urllib.error.HTTPError as error:
            if error.code < 500 or not left:
                raise
        except OSError:
            if not left:
                raise
        time.sleep(1.0)
    raise OSError("no answer")


def host_of(index):
    """The host of an index, without user name and password, for messages."""
    return urllib.parse.urlsplit(index).hostname or "an index without a host"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
