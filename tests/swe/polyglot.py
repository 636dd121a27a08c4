"""Repositories of a few files in JavaScript and Go, whose results only a log has; their fixes, and forgeries."""

from __future__ import annotations

from tests.swe.imitations.projects import diff

Document = dict[str, object]
_JS_BASE = {
    "package.json": '{"name": "sums", "version": "1.0.0"}\n',
    "lib/sums.js": "function total(items) {\n  return items.length;\n}\n\n"
    "function label(n) {\n  return n > 1 ? `${n} items` : 'one item';\n}\n\nmodule.exports = { total, label };\n",
}
_JS_TESTS = """const test = require('node:test');
const assert = require('node:assert');
const { total, label } = require('../lib/sums');

test('adds up', () => {
  assert.strictEqual(total([2, 3, 4]), 9);
});

test('adds nothing', () => {
  assert.strictEqual(total([]), 0);
});

test('names many', () => {
  assert.strictEqual(label(3), '3 items');
});
"""
_JS_FIXED = _JS_BASE["lib/sums.js"].replace("items.length", "items.reduce((a, b) => a + b, 0)")
_GO_BASE = {
    "go.mod": "module sums\n\ngo 1.19\n",
    "sums.go": "package sums\n\nfunc Total(items []int) int {\n\treturn len(items)\n}\n\n"
    'func Label(n int) string {\n\tif n > 1 {\n\t\treturn "many"\n\t}\n\treturn "one"\n}\n',
}
_GO_TESTS = """package sums

import "testing"

func TestTotal(t *testing.T) {
	if got := Total([]int{2, 3, 4}); got != 9 {
		t.Errorf("Total() = %d", got)
	}
}

func TestNothing(t *testing.T) {
	if got := Total(nil); got != 0 {
		t.Errorf("Total() = %d", got)
	}
}

func TestLabel(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want string
	}{
		{n: 3, want: "many"},
		{n: 1, want: "one"},
	} {
		if got := Label(tc.n); got != tc.want {
			t.Errorf("Label(%d) = %q", tc.n, got)
		}
	}
}
"""
_GO_FIXED = _GO_BASE["sums.go"].replace(
    "\treturn len(items)\n", "\ttotal := 0\n\tfor _, item := range items {\n\t\ttotal += item\n\t}\n\treturn total\n"
)


def _row(name: str, base: dict[str, str], path: str, fixed: str, tests: dict[str, str], **more: object) -> Document:
    return {
        "instance_id": f"{name}__{name}-1",
        "repo": name,
        "environment": {"files": base},
        "patch": diff(base, {path: fixed}),
        "test_patch": diff(base, tests),
        "runner": "log",
        **more,
    }


def javascript() -> Document:
    """Its tests are node's own, told as TAP."""
    return _row(
        "sumsjs", _JS_BASE, "lib/sums.js", _JS_FIXED, {"test/sums.test.js": _JS_TESTS},
        log_parser="tap", test_command="node --test --test-reporter=tap test/sums.test.js",
        FAIL_TO_PASS=["adds up"], PASS_TO_PASS=["adds nothing", "names many"],
    )  # fmt: skip


def go() -> Document:
    """Its tests are read from `go test -v`."""
    return _row(
        "sumsgo", _GO_BASE, "sums.go", _GO_FIXED, {"sums_test.go": _GO_TESTS},
        log_parser="gotest", test_command="HOME=/tmp GOFLAGS=-mod=mod GOCACHE=/tmp/cache go test -v ./...",
        FAIL_TO_PASS=["TestTotal"], PASS_TO_PASS=["TestNothing", "TestLabel"],
    )  # fmt: skip


def go_with_history() -> Document:
    """Its tests but for the one that decides are in the base commit, too."""
    decides = """func TestTotal(t *testing.T) {
	if got := Total([]int{2, 3, 4}); got != 9 {
		t.Errorf("Total() = %d", got)
	}
}

"""
    one = """
func TestOne(t *testing.T) {
	if got := Total([]int{1}); got != 1 {
		t.Errorf("Total() = %d", got)
	}
}
"""
    assert decides in _GO_TESTS
    base = {**_GO_BASE, "sums_test.go": _GO_TESTS.replace(decides, "") + one}
    command = str(go()["test_command"])
    return _row(
        "sumshistory", base, "sums.go", _GO_FIXED, {"sums_test.go": f"{base['sums_test.go']}\n{decides}"},
        log_parser="gotest", test_command=command,
        FAIL_TO_PASS=["TestTotal"], PASS_TO_PASS=["TestNothing", "TestLabel", "TestOne"],
    )  # fmt: skip


def javascript_patch(body: str, first: str = "") -> str:
    """An answer with another total."""
    text = _JS_BASE["lib/sums.js"].replace("return items.length", body)
    return diff(_JS_BASE, {"lib/sums.js": f"{first}\n{text}" if first else text})


def go_patch(body: str, imports: str = "") -> str:
    """An answer with another Total."""
    text = _GO_BASE["sums.go"].replace("return len(items)", body)
    return diff(_GO_BASE, {"sums.go": text.replace("package sums\n", f"package sums\n\n{imports}\n", 1)})
