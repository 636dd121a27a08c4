"""verdicts, rejudge, export and verify --journal, as a user types them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import update

from sandbox_gym.cli import main
from sandbox_gym.cli.records.journal import since_time
from sandbox_gym.codec import encode
from sandbox_gym.contract import Judgement
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal import Entry
from sandbox_gym.journal.rows import prepare, task_digest
from sandbox_gym.journal.schema import open_database, verdicts, writing
from sandbox_gym.journal.store import Store
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.server.protocol.verdicts import verdict_document
from sandbox_gym.server.protocol.wire import CodeFields
from sandbox_gym.verifiers.coding import extract_code, parse_task, result_codes, result_metadata
from tests.journal.entries import ROW, entry, no_verdict


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Run:
    """Runs sandbox-gym in this process."""
    monkeypatch.setenv("SANDBOX_GYM_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["sandbox-gym", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        captured = capfdbinary.readouterr()
        return Ended(int(ended.value.code or 0), captured.out.decode(), captured.err.decode())

    return call


def as_served(stdout: bytes = b"2\n", **more: object) -> Entry:
    """An entry with the reply that the coding server gives for it."""
    made = entry(stdout, **more)  # type: ignore[arg-type]
    verdict, state = made.judgements[0].verdict, made.judgements[0].state
    assert state is not None
    task = parse_task(made.source.row, limits=Limits(), early_stop=False)
    fields = CodeFields(
        reward=verdict.reward,
        extracted_model_output=made.source.answer,
        extracted_model_code=extract_code(made.source.answer),
        result=list(result_codes(verdict)),
        metadata=dict(result_metadata(task, verdict, state)),
        unit_tests_time_taken=verdict.timings_s.get("run"),
        verdict=verdict_document(verdict),
        failure_reason=verdict.failure_reason or None,
    )

    return replace(made, reply=fields.document())


def keep(url: str, *entries: Entry, state_max_bytes: float = MIB) -> None:
    store = Store(open_database(url, create=True))
    store.add([prepare(each, state_max_bytes=state_max_bytes) for each in entries])
    store.close()


def spoil(url: str, request_id: str, **values: object) -> None:
    engine = open_database(url, create=False)
    with writing(engine) as connection:
        connection.execute(update(verdicts).where(verdicts.c.request_id == request_id).values(**values))
    engine.dispose()


def test_verdicts_lists_the_latest_first_and_says_what_was_cut(url: str, run: Run) -> None:
    right, wrong, none = entry(age_s=20), entry(b"no", age_s=10), no_verdict()
    keep(url, right, wrong, none)
    ended = run("verdicts", "--journal", url)
    assert ended.code == 0
    places = [ended.out.index(each.request_id[:12]) for each in (none, wrong, right)]
    assert places == sorted(places)
    assert "wrong_answer" in ended.out
    assert "coding:sandbox_lost" in ended.out
    cut = run("verdicts", "--journal", url, "--limit", "2")
    assert right.request_id[:12] not in cut.out
    assert "--limit 0" in cut.err


def test_verdicts_as_json_have_every_column(url: str, run: Run) -> None:
    right = entry()
    keep(url, right)
    (line,) = run("verdicts", "--json", "--journal", url).lines
    assert (line["request_id"], line["reward"], line["task_digest"]) == (right.request_id, 1.0, task_digest(ROW))
    assert set(line) >= {
        "answer_digest", "plan_digest", "image", "limits", "verifier", "server", "provider", "isolation", "integrity",
        "failure_reason", "failure_kind", "tamper", "attempts", "timings_s", "started_at", "finished_at",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--reward", "1"], 1),
        (["--reward", "0"], 1),
        (["--reason", "wrong"], 1),
        (["--since", "1h"], 2),
        (["--since", "1h", "--reward", "1"], 0),
        (["--server", "coding"], 3),
        (["--server", "math"], 0),
        (["--task", task_digest(ROW)[:10]], 3),
        (["--task", "00000000000000"], 0),
    ],
)
def test_filters_of_all_three_commands(url: str, run: Run, options: list[str], count: int) -> None:
    keep(url, as_served(age_s=7200), as_served(b"no"), no_verdict())
    assert len(run("verdicts", "--json", "--journal", url, *options).lines) == count
    assert len(run("export", "--journal", url, *options).lines) == count
    assert len(run("rejudge", "--json", "--journal", url, *options).lines) == count


def test_rejudge_agrees_with_what_the_same_judge_said(url: str, run: Run) -> None:
    keep(url, as_served(), as_served(b"no"), as_served(b"\xff\xfe"), as_served(b""), no_verdict())
    ended = run("rejudge", "--journal", url)
    assert (ended.code, ended.out.strip()) == (0, "4 agree, 0 disagree, 1 without a recorded state")


def test_rejudge_finds_a_verdict_that_its_state_does_not_bear_out(url: str, run: Run) -> None:
    right, wrong = as_served(), as_served(b"no")
    keep(url, right, wrong)
    forged = prepare(as_served(), state_max_bytes=MIB).columns["reply"]
    spoil(url, wrong.request_id, reply=forged)
    ended = run("rejudge", "--journal", url)
    assert ended.code == 1
    assert "1 agree, 1 disagree" in ended.out
    assert wrong.request_id in ended.out
    assert "reward: 1.0 is now 0.0" in ended.out
    assert right.request_id not in ended.out
    assert run("rejudge", "--journal", url, "--request-id", right.request_id[:12]).code == 0


def test_rejudge_says_when_today_would_run_something_else(url: str, run: Run) -> None:
    kept = as_served()
    keep(url, kept)

    other = replace(kept.judgements[0].plan, image="other")
    judgements = (Judgement(other, kept.judgements[0].state, kept.judgements[0].verdict),)
    moved = prepare(replace(kept, judgements=judgements), state_max_bytes=MIB).columns["judgements"]
    spoil(url, kept.request_id, judgements=moved)
    ended = run("rejudge", "--journal", url)
    assert ended.code == 0
    assert "1 would be planned differently" in ended.out


def test_damage_is_told_and_stops_nothing(url: str, run: Run) -> None:
    bad, good = as_served(), as_served()
    keep(url, bad, good)
    spoil(url, bad.request_id, judgements=b"not zlib")
    ended = run("rejudge", "--journal", url)
    assert ended.code == 1
    assert "damaged" in ended.out
    assert "1 agree, 1 disagree" in ended.out
    exported = run("export", "--journal", url)
    assert (exported.code, len(exported.lines)) == (1, 1)
    assert "damaged" in exported.err


def test_a_state_that_was_too_long_is_counted_apart(url: str, run: Run) -> None:
    keep(url, as_served(b"x" * 5000), state_max_bytes=100)
    (finding,) = run("rejudge", "--json", "--journal", url).lines
    assert (finding["agreement"], finding["what"]) == ("no_state", "its outputs were longer than journal_state_mb")


def test_export_has_all_that_is_known(url: str, run: Run, tmp_path: Path) -> None:
    kept = as_served(b"no\xff")
    keep(url, kept)
    out = tmp_path / "out.jsonl"
    assert run("export", "--journal", url, "--out", str(out), "--states").code == 0
    (line,) = [json.loads(text) for text in out.read_text().splitlines()]
    assert (line["answer"], line["verifier_metadata"], line["reasoning"]) == (kept.source.answer, ROW, ["hm"])
    assert line["reply"]["reward"] == 0.0
    state = kept.judgements[0].state
    assert line["states"] == [json.loads(encode(state))]
    assert line["states"][0]["outcomes"][0]["stdout"] == {"b64": "bm//"}
    refused = run("export", "--journal", url, "--out", str(out))
    assert (refused.code, "--overwrite" in refused.err) == (2, True)
    assert run("export", "--journal", url, "--out", str(out), "--overwrite").code == 0
    assert "states" not in json.loads(out.read_text())


def test_prune_by_hand(url: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(url, entry(age_s=9 * 86_400), entry())
    monkeypatch.setenv("SANDBOX_GYM_JOURNAL_DAYS", "7")
    ended = run("verdicts", "--prune", "--json", "--journal", url)
    assert len(ended.lines) == 1
    assert "Deleted 1 verdicts" in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verdicts"], "no journal at"),
        (["rejudge", "--journal", "mysql://h/d"], "not supported"),
        (["export", "--journal", "off"], "the journal is off"),
        (["verdicts", "--journal", "/etc/hostname"], "not a database"),
        (["verdicts", "--since", "yesterday"], "--since 'yesterday'"),
        (["verdicts", "--task", "XYZ"], "--task 'XYZ'"),
        (["verdicts", "--reward", "high"], "'--reward': Input should be a valid number"),
        (["verdicts", "--limit", "-1"], "'--limit'"),
    ],
)
def test_bad_input_is_told_on_one_screen(run: Run, arguments: list[str], says: str) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert says in re.sub(r"\s+", " ", ended.err)
    assert "Traceback" not in ended.err


def test_since() -> None:
    assert since_time("90s", 1000.0) == 910.0
    assert since_time("2h", 10_000.0) == 2800.0
    assert since_time("1970-01-01T00:01:00+00:00", 0.0) == 60.0
    for bad in ("", "2y", "-1h", "99999-01-01", "h"):
        with pytest.raises(ConfigurationError):
            since_time(bad, 0.0)


def test_verify_keeps_a_journal_only_when_asked(run: Run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    right = {"answer": "print(2 * int(input()))", "verifier_metadata": ROW}
    rows.write_text(
        "".join(
            json.dumps(each) + "\n" for each in (right, {**right, "answer": "print(1)"}, {**right, "answer": ""}, right)
        )
    )
    verify = ("verify", str(rows), "--provider", "local", "--out", str(tmp_path / "out"), "--overwrite")
    assert run(*verify).code == 0
    assert not (tmp_path / "state" / "journal.sqlite").exists()
    assert run(*verify, "--journal", "default").code == 0
    assert [line["reward"] for line in run("verdicts", "--json").lines].count(1.0) == 2
    ended = run("rejudge")
    assert (ended.code, "4 agree, 0 disagree" in ended.out) == (0, True)


def test_the_verdicts_of_every_kind_of_row_are_borne_out(run: Run, tmp_path: Path) -> None:
    """Programs, functions, checks across two boxes: real states, judged again."""
    data, rows = Path(__file__).parents[2] / "resources_servers" / "coding" / "data", tmp_path / "rows.jsonl"
    rows.write_text((data / "example.jsonl").read_text() + (data / "example_more.jsonl").read_text())
    url = str(tmp_path / "journal.sqlite")
    command = ("verify", str(rows), "--provider", "local", "--out", str(tmp_path / "out"), "--journal", url)
    assert run(*command).code == 0
    count = len(rows.read_text().splitlines())
    assert count >= 5
    ended = run("rejudge", "--journal", url)
    assert (ended.code, ended.out.strip()) == (0, f"{count} agree, 0 disagree, 0 without a recorded state")


def test_verdicts_with_signs_of_tampering(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "journal.sqlite")
    judged = entry().judgements[0]
    evidence = {"pytest_patched": "_pytest.runner.call_and_report was set\x1b[2J", "named_only": ""}
    verdict = replace(judged.verdict, tamper=("pytest_patched", "named_only"), evidence=evidence)
    hacked = replace(entry(), judgements=(replace(judged, verdict=verdict),), tenant="trainer")
    store = Store(open_database(path, create=True))
    store.add([prepare(each, state_max_bytes=MIB) for each in (entry(), hacked, replace(hacked, request_id="f" * 32))])
    store.close()
    ended = run("verdicts", "--tampered", "--tenant", "trainer", "--since", "1h", "--journal", path, "--json")
    assert (ended.code, [line["request_id"] for line in ended.lines]) == (0, ["f" * 32, hacked.request_id])
    assert ended.lines[1]["signs"] == evidence
    assert ended.lines[1]["tenant"] == "trainer"
    shown = run("verdicts", "--tampered", "--task", task_digest(ROW)[:12], "--journal", path).out
    for words in (
        hacked.request_id[:12],
        task_digest(ROW)[:8],
        "trainer",
        "pytest_patched",
        "call_and_report",
        "⟨ESC⟩",
    ):
        assert words in shown
    assert "\x1b[2J" not in shown
    assert run("verdicts", "--tampered", "--tenant", "nobody", "--journal", path, "--json").lines == []
