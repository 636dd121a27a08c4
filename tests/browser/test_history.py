"""The dashboard's pages from the journal in a real Chromium: searches, charts with axes, a task, two windows, a server
that is down. Looked at by axe, on a phone and in the dark."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from sandbox_gym.journal.rows import task_digest
from tests.browser.axe import violations
from tests.browser.conftest import LABEL, RIGHT, Server
from tests.journal.filling import FLAKY, HACKED, RUN, fill, label_of, row_of
from tests.load.servers import ServerProcess

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
COUNT = 2000
MANY = 100_000
Visit = Callable[..., Page]


def served(folder: Path, count: int) -> Iterator[Server]:
    """A server over fake boxes with so many verdicts on record."""
    journal = folder / "journal.sqlite"
    fill(str(journal), count, until=time.time() - 60, days=2.0)
    with ServerProcess("fake", folder, settings={"SANDBOX_GYM_JOURNAL_URL": str(journal)}) as process:
        made = Server(process)
        yield made
        made.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from served(tmp_path_factory.mktemp("recorded"), COUNT)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from served(tmp_path_factory.mktemp("large"), MANY)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a page of a server; what it complains of fails the test, but for a server that is gone."""
    contexts, complaints = [], list[str]()

    def make(server: Server, path: str, *, scheme: Any = "light", width: int = 1280) -> Page:
        mobile = width < 600
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}, is_mobile=mobile, has_touch=mobile
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server.url}/dashboard{path}")
        return page

    yield make
    for context in contexts:
        context.close()
    assert [one for one in complaints if "ERR_CONNECTION" not in one] == []


def sideways(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def drawn(page: Page, chart: str) -> int:
    """How many pixels of a chart's canvas have a colour: none where nothing was drawn."""
    look = """canvas => {
      const seen = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let colours = 0;
      for (let i = 0; i < seen.length; i += 4)
        if (seen[i + 3] && Math.max(...seen.slice(i, i + 3)) - Math.min(...seen.slice(i, i + 3)) > 40) colours += 1;
      return colours; }"""
    return int(page.locator(f"{chart} canvas").evaluate(look))


def test_a_search_narrows_list_charts_and_address(recorded: Server, visit: Visit) -> None:
    page = visit(recorded, "/history")
    expect(page.locator("[data-tile=Verdicts] .value")).to_have_text("2,000")
    assert drawn(page, "#shares") > 500
    assert drawn(page, "#counts") > 5000
    expect(page.locator("#shares")).to_have_attribute("aria-label", re.compile("mean reward.* at the beginning to "))
    page.get_by_label("Search").fill(label_of(HACKED).upper())
    expect(page.locator("[data-tile=Verdicts] .value")).not_to_have_text("2,000")
    expect(page.locator("#tasks tr")).to_have_count(1)
    names = page.locator("#verdicts .task a:first-child").all_inner_texts()
    assert set(names) == {label_of(HACKED)}
    page.get_by_label("Outcome").select_option("tamper")
    expect(page.locator("#verdicts tr").first.locator(".badge.no_verdict")).to_have_text("1 tamper")
    expect(page).to_have_url(re.compile("outcome=tamper"))
    expect(page.locator("#verdicts tr:not(:has(.badge.no_verdict))")).to_have_count(0)
    address = page.url
    shown = page.locator("#verdicts tr").count()
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#verdicts tr")).to_have_count(shown)
    expect(page.get_by_label("Search")).to_have_value(label_of(HACKED).upper())
    page.get_by_label("Search").fill("no such task")
    expect(page.locator("#found")).to_have_text("No verdict matches.")


@pytest.mark.extended
def test_older_verdicts_follow(recorded: Server, visit: Visit) -> None:
    page = visit(recorded, "/history")
    expect(page.locator("#verdicts tr")).to_have_count(100)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("#verdicts tr")).to_have_count(200)
    links = page.eval_on_selector_all("#verdicts .task a:first-child", "all => all.map(one => one.href)")
    assert len(set(links)) == 200


@pytest.mark.extended
def test_a_run_is_drawn_over_its_steps(recorded: Server, visit: Visit) -> None:
    page = visit(recorded, f"/history?run={RUN}&axis=step")
    expect(page.locator("#counts")).to_have_attribute("aria-label", "Verdicts over step: 1,600 in all")
    page.locator("#shares .u-over").hover()
    expect(page.locator("#reading")).to_have_text(re.compile(r"^step [\d,]+: 0\.\d\d pass rate, 0\.\d\d mean reward$"))


@pytest.mark.extended
def test_a_tasks_page_shows_its_flaky_and_hacked_tests(recorded: Server, visit: Visit) -> None:
    page = visit(recorded, f"/tasks/{task_digest(row_of(FLAKY))}")
    expect(page.get_by_role("heading", level=1)).to_have_text(label_of(FLAKY))
    expect(page.locator("#tests tr").nth(1)).to_contain_text("flaky")
    page = visit(recorded, f"/tasks/{task_digest(row_of(HACKED))}")
    expect(page.locator("#tests tr").first).to_contain_text("passed with signs")
    expect(page.locator("#answers")).to_contain_text("pytest patched")
    page.get_by_role("link", name="all of this task").click()
    expect(page.locator("#tasks tr")).to_have_count(1)


@pytest.mark.extended
def test_steps_and_moments_are_compared(recorded: Server, visit: Visit) -> None:
    page = visit(recorded, "/compare")
    page.get_by_label("Two steps of a run").check()
    page.get_by_label("Run", exact=True).fill(RUN)
    page.get_by_label("Step", exact=True).fill("300")
    page.get_by_label("Other step", exact=True).fill("1700")
    page.get_by_label("Steps around each").fill("300")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#name-a")).to_have_text("step 300 ± 300")
    expect(page.locator("#sums tr").nth(1)).to_contain_text("▲ better")
    expect(page.locator("#tasks tr").first).to_be_visible()
    assert f"run={RUN}" in page.url
    page.get_by_label("Before and after a moment").check()
    page.get_by_label("Length of each window").select_option("86400")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#name-a")).to_contain_text("before")


def test_hostile_names_stay_text_on_every_page(recorded: Server, visit: Visit) -> None:
    recorded.verify(RIGHT, LABEL, tenant="<b onclick=alert(1)>")
    page = visit(recorded, "/history?text=onerror")
    shown = LABEL.replace("\u202e", "⟨U+202E⟩")
    expect(page.locator("#verdicts .task a").first).to_have_text(shown)
    page.locator("#tasks a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(shown)
    assert page.evaluate("window.pwned === undefined") is True
    assert "\u202e" not in page.evaluate("document.body.textContent")


@pytest.mark.npm
@pytest.mark.extended
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_in_anybodys_way(recorded: Server, visit: Visit, scheme: str, width: int) -> None:
    steps = f"/compare?by=step&run={RUN}&step_a=300&step_b=1700&around=300"
    for path, ready in (
        ("/history", "#counts canvas"),
        (f"/tasks/{task_digest(row_of(HACKED))}", "#verdicts tr"),
        (steps, "#tasks tr"),
    ):
        page = visit(recorded, path, scheme=scheme, width=width)
        page.wait_for_selector(ready)
        assert violations(page) == [], path
        assert sideways(page) == 0, path


@pytest.mark.extended
def test_a_search_of_a_hundred_thousand_is_quick(large: Server, visit: Visit) -> None:
    """Without a bound of time, which would be one on this machine: by what a question costs that an index answers."""
    page = visit(large, "/history")
    expect(page.locator("[data-tile=Verdicts] .value")).to_have_text("100,000", timeout=60_000)
    took = """async query => {
      const began = performance.now();
      await (await fetch(`/dashboard/api/verdicts?${query}`)).json();
      return performance.now() - began; }"""

    def milliseconds(query: str) -> float:
        return min(float(page.evaluate(took, query)) for _ in range(5))

    alone = milliseconds("task=" + "0" * 64)
    searches = ["nosuchword", label_of(99), "pytest_patched", "sandbox_lost eval", "0123456789ab"]
    slow = {words: milliseconds(f"text={words}") for words in searches}
    assert max(slow.values()) < 60 * max(alone, 2.0), (alone, slow)


@pytest.mark.npm
@pytest.mark.extended
def test_at_last_a_server_that_is_down_says_since_when(recorded: Server, visit: Visit) -> None:
    live, history = visit(recorded, ""), visit(recorded, "/history")
    expect(live.get_by_role("status")).to_have_text("Live")
    expect(history.locator("#verdicts tr").first).to_be_visible()
    expect(live.locator("#down")).to_be_hidden()
    recorded.stop()
    expect(live.locator("#down")).to_have_text(
        re.compile(r"^The server has not answered since \d\d:\d\d:\d\d\. What is below is [\d.]+ s old\.$"),
        timeout=15_000,
    )
    assert live.evaluate("document.body.classList.contains('stale')") is True
    assert violations(live) == []
    history.get_by_label("Search").fill("x")
    expect(history.locator("#down")).to_be_visible()
    expect(history.locator("#verdicts tr").first).to_be_visible()
    assert violations(history) == []
