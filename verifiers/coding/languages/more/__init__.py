"""Languages that the image polyglot-more has: one file each, and this list."""

from __future__ import annotations

from sandbox_gym.verifiers.coding.languages.language import Language
from sandbox_gym.verifiers.coding.languages.more.d import D_UNITTEST, D
from sandbox_gym.verifiers.coding.languages.more.haskell import HASKELL
from sandbox_gym.verifiers.coding.languages.more.kotlin import KOTLIN, KOTLIN_SCRIPT
from sandbox_gym.verifiers.coding.languages.more.lua import LUA
from sandbox_gym.verifiers.coding.languages.more.ocaml import OCAML
from sandbox_gym.verifiers.coding.languages.more.perl import PERL
from sandbox_gym.verifiers.coding.languages.more.php import PHP
from sandbox_gym.verifiers.coding.languages.more.r import R
from sandbox_gym.verifiers.coding.languages.more.racket import RACKET
from sandbox_gym.verifiers.coding.languages.more.ruby import RUBY
from sandbox_gym.verifiers.coding.languages.more.scala import SCALA
from sandbox_gym.verifiers.coding.languages.more.swift import SWIFT
from sandbox_gym.verifiers.coding.languages.more.verilog import VERILOG

MORE: tuple[Language, ...] = (
    *(PHP, RUBY, PERL, LUA, R, SCALA, D, D_UNITTEST, RACKET, KOTLIN, KOTLIN_SCRIPT, SWIFT, HASKELL, OCAML, VERILOG),
)
