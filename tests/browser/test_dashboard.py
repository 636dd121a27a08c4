"""The dashboard in a real Chromium: it is live, what is hostile stays text, and everybody can use it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import HOSTILE, LABEL, RIGHT, SCRIPT, TOKEN, Opening, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def open_verdict(page: Page, server: Server, verdict_id: str) -> None:
    page.goto(f"{server.url}/dashboard/verdicts/{verdict_id}")
    page.wait_for_selector("#verdict:not([hidden])")


def tile(page: Page, name: str) -> Any:
    return page.locator(f"[data-tile='{name}'] .value")


def sideways(page: Page) -> int:
    """Pixels that a page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


# -- the door


def test_one_logs_in_with_the_token_and_out_again(server: Server, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/dashboard/verdicts/{'0' * 32}")
    expect(page).to_have_url(f"{server.url}/dashboard/login")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That is not the token.")
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Live")
    assert page.evaluate("document.cookie") == ""  # HttpOnly
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/dashboard")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{server.url}/dashboard/login")
    assert context.request.get(f"{server.url}/dashboard/api/live").status == 401
    context.close()


# -- it is live


def test_numbers_change_while_verifies_run(server: Server, opening: Opening) -> None:
    page = opening()
    total = tile(page, "Since start")
    before = int(total.inner_text())
    server.verify(RIGHT, "counted/1")
    server.verify(RIGHT, "counted/2")
    expect(total).to_have_text(str(before + 2), timeout=10_000)
    expect(page.locator("#verdicts a").first).to_have_text("counted/2")
    expect(page.locator("#mix li").first).to_contain_text("passed")
    expect(page.locator("#slots")).to_have_attribute("aria-label", re.compile(r"\d+ of \d+ slots busy"))
    expect(page.locator("#phases tr")).to_have_count(5)
    expect(page.locator("#rate")).to_have_attribute("aria-label", re.compile(r"minutes: \d"), timeout=15_000)


def test_the_radar_names_kind_task_time_and_answers(opening: Opening) -> None:
    """The server's own picture, with a rise put into it on its way to the page."""
    page = opening()
    verdict_id = page.locator("#verdicts a").first.get_attribute("href").rpartition("/")[2]  # type: ignore[union-attr]
    first = {"id": verdict_id, "at": 1_800_000_000, "task": LABEL, "evidence": SCRIPT}
    rise = {
        "kind": "pytest_patched",
        "tenant": "trainer",
        "since": 1_800_000_000,
        "before": 0.0,
        "share": 0.031,
        "count": 12,
        "of": 387,
        "tasks": [{"task": LABEL, "count": 7, "of": 60}],
        "first": [first],
        "text": "",
    }
    picture = page.evaluate("fetch('/dashboard/api/live').then((answer) => answer.json())")
    assert picture["radar"]["rises"] == []
    expect(page.locator("#rises-empty")).to_be_visible()
    expect(page.locator("#radar-hours tr").first).to_contain_text("none")
    picture["radar"]["rises"] = [rise]
    body = f"data: {json.dumps(picture)}\n\n"
    page.route("**/dashboard/api/events", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    page.reload()
    shown = page.locator("#rises li").first
    expect(shown).to_contain_text("pytest patched")
    expect(shown).to_contain_text("0 % → 3.1 % of trainer verifies since")
    expect(shown).to_contain_text(f"{LABEL} (7 of 60)")
    expect(shown.locator("a")).to_have_attribute("href", f"/dashboard/verdicts/{verdict_id}")
    expect(page.locator("#rises-empty")).to_be_hidden()
    assert page.evaluate("window.pwned") is None


def test_the_list_is_filtered_and_held(server: Server, opening: Opening) -> None:
    page = opening()
    page.get_by_label("Outcome").select_option("failed")
    expect(page.locator("#verdicts .badge.passed")).to_have_count(0)
    expect(page.locator("#verdicts a").first).to_be_visible()
    page.get_by_label("Reason").select_option("wrong_answer")
    expect(page.locator("#verdicts tr")).to_have_count(1)
    page.get_by_label("Outcome").select_option("")
    page.get_by_label("Reason").select_option("")
    hold = page.get_by_role("button", name="Hold")
    hold.click()
    expect(hold).to_have_attribute("aria-pressed", "true")
    first = page.locator("#verdicts a").first.inner_text()
    total = int(tile(page, "Since start").inner_text())
    server.verify(RIGHT, "while held")
    expect(tile(page, "Since start")).to_have_text(str(total + 1), timeout=10_000)
    assert page.locator("#verdicts a").first.inner_text() == first
    hold.click()
    expect(page.locator("#verdicts a").first).to_have_text("while held", timeout=10_000)


def test_a_list_that_one_is_in_stands_still(server: Server, opening: Opening) -> None:
    page = opening()
    link = page.locator("#verdicts a").first
    link.focus()
    name = link.inner_text()
    total = int(tile(page, "Since start").inner_text())
    server.verify(RIGHT, "while focused")
    expect(tile(page, "Since start")).to_have_text(str(total + 1), timeout=10_000)
    expect(link).to_be_focused()
    expect(link).to_have_text(name)
    expect(page.get_by_text("stands still")).to_be_visible()


# -- a verdict's page


def test_a_verdicts_page_shows_how_and_judges_again(server: Server, opening: Opening) -> None:
    verdict_id = server.verify("print('no')", "page/1")
    page = opening(f"/dashboard/verdicts/{verdict_id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("page/1")
    expect(page.locator("#outcome")).to_contain_text("failed: wrong answer")
    facts = page.locator("#facts")
    for words in ("Isolation", "namespace", "Integrity", "isolated", "trainer"):
        expect(facts).to_contain_text(words)
    expect(page.locator("#times")).to_contain_text("run")
    first = page.locator("#tests details").first
    first.locator("summary").click()
    for name, text in (("Input", "1"), ("Expected output", "2"), ("Standard output", "no")):
        block = first.get_by_role("region", name=f"{name}, ")
        expect(block.first).to_have_text(re.compile(rf"^{text}\s*$"))
    expect(page.get_by_role("region", name="Answer", exact=True)).to_contain_text("print('no')")
    page.get_by_role("button", name="Judge again").click()
    expect(page.get_by_role("status")).to_have_text("✓ The same verdict again.")


def test_a_verdict_is_reached_from_the_list_by_keyboard_alone(server: Server, opening: Opening) -> None:
    server.verify("print('no')", "by-keyboard")
    page = opening()
    expect(page.locator("#verdicts a").first).to_have_text("by-keyboard", timeout=10_000)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", seen
        if seen[-1] == "by-keyboard":
            break
    assert seen[-1] == "by-keyboard", seen
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict:not([hidden])")
    summary = page.locator("#tests summary").first
    for _ in range(15):
        page.keyboard.press("Tab")
        if summary.evaluate("node => node === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name=re.compile("Standard output")).first).to_be_visible()


def test_an_unknown_verdict_says_so(server: Server, browser: Browser, storage: Any) -> None:
    context = browser.new_context(storage_state=storage)
    page = context.new_page()
    page.goto(f"{server.url}/dashboard/verdicts/{'0' * 32}")
    expect(page.get_by_role("alert")).to_contain_text("nothing of that name is kept")
    context.close()


def test_long_rows_have_pages(short_lived: Server, browser: Browser) -> None:
    verdict_id = short_lived.verify(RIGHT, "long", tests=205)
    context = browser.new_context()
    page = context.new_page()
    open_verdict(page, short_lived, verdict_id)
    expect(page.locator("#tests > *")).to_have_count(200)
    page.get_by_role("button", name="Later").click()
    expect(page.locator("#range")).to_have_text("201 to 205 of 205")
    expect(page.locator("#tests > *")).to_have_count(5)
    expect(page.get_by_role("button", name="Later")).to_be_disabled()
    expect(page.locator("#tests .badge").first).to_have_text("wrong answer")
    page.get_by_role("button", name="Earlier").click()
    expect(page.locator("#tests > *")).to_have_count(200)
    context.close()


# -- what is hostile


def test_hostile_names_outputs_and_errors_stay_text(server: Server, opening: Opening) -> None:
    verdict_id = server.verify(HOSTILE, LABEL, tenant="<b onclick=alert(1)>tenant</b>")
    page = opening()
    shown = LABEL.replace("\u202e", "⟨U+202E⟩")
    expect(page.get_by_role("link", name=shown, exact=True).first).to_be_visible(timeout=10_000)
    open_verdict(page, server, verdict_id)
    expect(page.get_by_role("heading", level=1)).to_have_text(shown)
    page.eval_on_selector_all("details", "folds => folds.forEach(fold => { fold.open = true })")
    output = page.get_by_role("region", name=re.compile("^Standard output, Test 1")).first
    expect(output).to_contain_text(f"{SCRIPT}⟨ESC⟩[31m")
    expect(page.get_by_role("region", name=re.compile("^Standard error, Test 1")).first).to_contain_text(SCRIPT)
    expect(page.locator("#tests .why").first).to_contain_text("<script>")
    page.get_by_role("button", name="Judge again").click()
    expect(page.locator("#rejudged")).to_contain_text("same verdict")
    assert page.locator("main script, main img[src=x], main svg[onload], b").count() == 0
    assert page.evaluate("window.pwned === undefined") is True
    every = page.evaluate("document.body.textContent")
    assert "\u202e" not in every
    assert "\x1b" not in every


def test_even_a_mistake_of_ours_would_run_nothing(short_lived: Server, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{short_lived.url}/dashboard")
    expect(page.get_by_role("status")).to_have_text("Live")
    parsed = "document.body.innerHTML = '<img src=x onerror=document.title=1>'"
    tried = f"() => {{ try {{ {parsed}; return 'taken' }} catch (error) {{ return error.name }} }}"
    assert page.evaluate(tried) == "TypeError"
    handler = tried.replace(parsed, "document.body.setAttribute('onclick', 'document.title=1')")
    assert page.evaluate(handler) == "TypeError"
    context.close()


# -- everybody


@pytest.mark.npm
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_in_anybodys_way(server: Server, opening: Opening, scheme: str, width: int) -> None:
    verdict_id = server.verify(HOSTILE, LABEL + "x" * 100)
    page = opening(scheme=scheme, width=width, height=844)
    expect(page.locator("#verdicts tr").first).to_be_visible()
    assert violations(page) == []
    assert sideways(page) == 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3]))
    assert (brightness > 600) is (scheme == "light")
    open_verdict(page, server, verdict_id)
    page.locator("#tests summary").first.click()
    page.locator("#tests pre").first.wait_for()
    page.get_by_role("button", name="Judge again").click()
    expect(page.locator("#rejudged")).to_contain_text("same verdict")
    assert violations(page) == []
    assert sideways(page) == 0


@pytest.mark.npm
@pytest.mark.parametrize("width", [320, 1280])
def test_the_login_page_too(server: Server, browser: Browser, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700})
    page = context.new_page()
    page.goto(f"{server.url}/dashboard/login")
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page) == []
    assert sideways(page) == 0
    context.close()


def test_the_smallest_phone_scrolls_down_only(server: Server, opening: Opening) -> None:
    page = opening(width=320, height=568)
    assert sideways(page) == 0
    page.eval_on_selector_all("#phases .num", "cells => cells.forEach(one => one.textContent = '1,000 µs')")
    assert sideways(page) == 0
    open_verdict(page, server, server.verify("print('" + "w" * 3000 + "')", "w" * 120))
    page.locator("#tests summary").first.click()
    page.locator("#tests pre").first.wait_for()
    assert sideways(page) == 0


def test_only_the_links_state_is_spoken_by_itself(opening: Opening) -> None:
    page = opening()
    live = page.eval_on_selector_all(
        "[aria-live], [role=status], [role=alert], [role=log]", "nodes => nodes.map(n => n.id)"
    )
    assert live == ["link"]
    assert page.locator("main").count() == page.locator("header").count() == page.locator("footer").count() == 1
    assert page.locator("h1").count() == 1
    assert page.locator("section:not([aria-label]):not([aria-labelledby])").count() == 0


def test_at_last_a_server_that_goes_away_is_told(short_lived: Server, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{short_lived.url}/dashboard")
    expect(page.get_by_role("status")).to_have_text("Live")
    assert page.get_by_role("button", name="Log out").count() == 0  # nobody was asked for a token
    short_lived.stop()
    expect(page.get_by_role("status")).to_contain_text("Connection lost", timeout=15_000)
    context.close()
