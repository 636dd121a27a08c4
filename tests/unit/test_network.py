"""What an allow-list's entries mean, by names, addresses and what names stand for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sandbox_gym.config import Settings
from sandbox_gym.network import AllowList, normal

LIST = AllowList(["example.com", "*.Example.org.", "10.1.0.0/16", "192.0.2.7", "2001:db8::/32"])
PUBLIC = "93.184.216.34"


@pytest.mark.parametrize(
    ("host", "port", "address", "permitted"),
    [
        ("example.com", 443, PUBLIC, True),
        ("EXAMPLE.com.", 80, PUBLIC, True),
        ("example.com", 8443, PUBLIC, False),
        ("www.example.com", 443, PUBLIC, False),
        ("badexample.com", 443, PUBLIC, False),
        ("a.b.example.org", 443, PUBLIC, True),
        ("example.org", 443, PUBLIC, False),
        ("evil-example.org", 443, PUBLIC, False),
        ("10.1.255.1", 22, "10.1.255.1", True),
        ("10.2.0.1", 80, "10.2.0.1", False),
        ("anything.test", 80, "10.1.2.3", False),  # names are listed by name
        ("example.com", 80, "10.1.2.3", True),
        ("8.8.8.8", 53, "8.8.8.8", False),
        ("192.0.2.7", 1, "192.0.2.7", True),
        ("2001:db8::1", 443, "2001:db8::1", True),
        # a name that is listed, and answers with an address that is somebody's own
        ("example.com", 80, "127.0.0.1", False),
        ("example.com", 80, "169.254.169.254", False),
        ("example.com", 80, "10.2.0.1", False),
        ("example.com", 80, "192.168.0.1", False),
        ("example.com", 80, "100.64.0.1", False),
        ("example.com", 80, "0.0.0.0", False),
        ("example.com", 80, "::1", False),
        ("example.com", 80, "::ffff:127.0.0.1", False),
        ("example.com", 80, "::ffff:10.1.0.1", True),
        ("example.com", 80, "64:ff9b::7f00:1", False),
        ("example.com", 80, "2002:7f00:1::", False),
        ("example.com", 80, "fe80::1%eth0", False),
        ("example.com", 80, "fc00::1", False),
        ("example.com", 80, "fec0::1", False),
        ("example.com", 80, "::7f00:1", False),
        ("example.com", 80, "224.0.0.1", False),
        ("example.com", 80, "ff0e::1", False),
        ("example.com", 443, "2606:2800:220:1:248:1893:25c8:1946", True),
    ],
)
def test_what_may_be_reached(host: str, port: int, address: str, permitted: bool) -> None:
    named = host != address
    found = (not named or LIST.permits_name(host, port)) and LIST.permits_address(address, named=named)
    assert found is permitted


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("example.com", True),
        ("*.example.com", False),
        ("www.example.org", True),
        ("*.example.org", True),
        ("*.www.example.org", True),
        ("*.org", False),
        ("example.org", False),
        ("10.1.2.0/24", True),
        ("10.0.0.0/8", False),
        ("0.0.0.0/0", False),
        ("2001:db8:1::/48", True),
        ("::/0", False),
    ],
)
def test_what_one_list_allows_of_another(entry: str, covered: bool) -> None:
    assert LIST.covers(entry) is covered


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "a*.example.com", "example.com:443", "http://example.com", "10.0.0.0/33", "127.1", "1.2.3.4.5",
     "exämple.com", "a..b", "-a.example", "a" * 300, "a b"],
)  # fmt: skip
def test_what_is_no_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="is no address, no CIDR block and no host name"):
        AllowList([entry])
    with pytest.raises(ValidationError, match="host name"):
        Settings(allow_out=["example.com", entry])


def test_a_wide_block_is_the_internet_and_no_more() -> None:
    """Who writes E2B's ALL_TRAFFIC means no loopback, no metadata service, and nobody's own network."""
    wide = AllowList(["0.0.0.0/0", "::/0"])
    for address in ("8.8.8.8", PUBLIC, "2606:4700::1111"):
        assert wide.permits_address(address, named=False)
    for address in (
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd00::1",
        "::ffff:127.0.0.1",
    ):
        assert not wide.permits_address(address, named=False), address
    for entry, covered in (
        ("10.0.0.0/8", False),
        ("127.0.0.1", False),
        ("169.254.0.0/16", False),
        ("0.0.0.0/0", True),
        ("8.8.8.0/24", True),
        ("8.0.0.0/7", True),
        ("fd00::/8", False),
        ("2606:4700::/32", True),
    ):
        assert wide.covers(entry) is covered, entry
    narrow = AllowList(["127.0.0.0/8"])
    assert narrow.permits_address("127.0.0.2", named=False)
    assert narrow.covers("127.0.0.2")


def test_entries_are_passed_on_in_one_form() -> None:
    assert [normal(entry) for entry in (" Example.COM. ", "*.Example.com", "10.0.0.1", "10.0.0.1/8")] == [
        "example.com", "*.example.com", "10.0.0.1", "10.0.0.0/8",
    ]  # fmt: skip


def test_a_list_has_an_end() -> None:
    with pytest.raises(ValueError, match="at most"):
        AllowList(["example.com"] * 1001)
