"""The image's smoke test: the interpreter is one the guest runs on."""

import ctypes
import resource
import sys

assert sys.version_info >= (3, 8), sys.version
assert ctypes.CDLL(None).prctl
assert resource.getrlimit(resource.RLIMIT_NOFILE)
sys.stdout.write("base image: Python %d.%d.%d\n" % sys.version_info[:3])
