"""An interpreter that repositories can be installed for has these."""

import bz2
import ctypes
import lzma
import sqlite3
import ssl
import venv
import zlib

assert all((bz2, ctypes, lzma, sqlite3.sqlite_version, ssl.OPENSSL_VERSION, venv, zlib))
