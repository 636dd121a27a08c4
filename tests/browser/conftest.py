"""One Chromium and one coding server over real local sandboxes for all browser tests, verdicts of every kind in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from tests.load.servers import ServerProcess
from tests.server.fakes import verify_body

TOKEN: Final = "operators-token"
LABEL: Final = "<img src=x onerror=window.pwned=1>\u202etxt.exe"
SCRIPT: Final = "</pre><script>window.pwned=1</script><svg onload=window.pwned=1>"
RIGHT: Final = "print(2 * int(input()))"
HOSTILE: Final = f"import sys\nprint({SCRIPT!r} + '\\x1b[31m')\nraise ValueError({SCRIPT!r})"
Opening = Callable[..., Page]


def chromium() -> str:
    """Debian's, or whatever goes by its names."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found is not None, "no chromium; make test-browser installs it"
    return found


class Server:
    """The server under test, and verifies in it."""

    def __init__(self, process: ServerProcess) -> None:
        self.url, self.stop = process.url, process.stop
        self._client = httpx.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)

    def close(self) -> None:
        """The client's connections."""
        self._client.close()

    def verify(self, program: str, label: str = "doubling/1", *, tests: int = 2, tenant: str = "trainer") -> str:
        """The verdict's id."""
        inputs = [str(number) for number in range(1, tests + 1)]
        outputs = [str(2 * number) for number in range(1, tests + 1)]
        row: dict[str, Any] = {
            "task_id": label,
            "early_stop": False,
            "unit_tests": {"inputs": inputs, "outputs": outputs},
        }
        body = verify_body(f"```python\n{program}\n```", verifier_metadata=row)
        headers = {"X-Sandbox-Gym-Tenant": tenant}
        answer = self._client.post(f"{self.url}/verify", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.headers["X-Sandbox-Gym-Verdict-Id"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"SANDBOX_GYM_TOKEN": TOKEN, "SANDBOX_GYM_JOURNAL_URL": "off"}
    with ServerProcess("local", tmp_path_factory.mktemp("browser"), settings=settings) as process:
        made = Server(process)
        made.verify(RIGHT)
        made.verify("print('no')", "doubling/wrong", tenant="eval")
        yield made
        made.close()


@pytest.fixture(scope="module")
def short_lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over fake boxes whose programs say nothing; it asks for no token, and the last test stops it."""
    with ServerProcess("fake", tmp_path_factory.mktemp("fake"), settings={"SANDBOX_GYM_JOURNAL_URL": "off"}) as process:
        made = Server(process)
        yield made
        made.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """While it is open the thread has an event loop that runs, beside which no other test's may: no longer than the
    module."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def storage(server: Server, browser: Browser) -> Any:
    """The cookie of one that is logged in."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/dashboard")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("#link[data-state=live]")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def opening(server: Server, browser: Browser, storage: Any) -> Iterator[Opening]:
    """Opens pages as one who is logged in; what a page complains of, in console or by an exception, fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(path: str = "/dashboard", *, scheme: Any = "light", width: int = 1280, height: int = 900) -> Page:
        size: ViewportSize = {"width": width, "height": height}
        mobile = width < 600
        context = browser.new_context(
            storage_state=storage,
            color_scheme=scheme,
            viewport=size,
            is_mobile=mobile,
            has_touch=mobile,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.url + path)
        page.wait_for_selector("#verdict:not([hidden])" if "/verdicts/" in path else "#link[data-state=live]")
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []
