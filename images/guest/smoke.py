"""What the guest imports, where no other file of a system is."""

import array
import ast
import ctypes
import hashlib
import json
import selectors
import socket
import subprocess
import sys
import zlib

bash = "/opt/sandbox-gym/guest/bin/bash"
assert subprocess.run([bash, "-c", "exit 7"]).returncode == 7
assert sys.version_info >= (3, 9), sys.version
assert all((array, ast, ctypes, hashlib, json, selectors, socket, zlib))
