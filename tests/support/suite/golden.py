"""Golden files: expected texts of the program, in tests/golden/FOLDER.txt for the tests of each folder.

Tests assert the parts of a result (check, status, code, remedy). Only tests of the wording itself use these files,
through the fixture `golden`. `sh bootstrap.sh test --renew-golden tests/unit/FOLDER` rewrites them.
"""

import ast
import difflib
import fcntl
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[2]
DIRECTORY = TESTS / "golden"
REPOSITORY = TESTS.parent
_MARGIN = "    "


class Golden:
    """The texts of one test; a call with a text compares it with the recorded one.

    Args:
        file: The test's file.
        test: Its name, with parameters.
        stand_ins: Texts that differ between runs, and the words recorded for them.
        renews: Record the texts instead of comparing them.
    """

    def __init__(self, file: Path, test: str, stand_ins: Mapping[str, str], *, renews: bool) -> None:
        self._file = golden_file_of(file)
        self._test = f"{file.stem}::{test}"
        self._stand_ins = stand_ins
        self._renews = renews
        self._texts: dict[str, str] = {}

    def __call__(self, text: object, about: str = "", **stand_ins: object) -> None:
        """Compare a text, or `str()` of an exception, with the recorded one.

        Args:
            text: The program's output.
            about: Distinguishes several texts of one test.
            **stand_ins: Texts that differ between runs, by the word to record for each: `PREFIX=prefix`.
        """
        key = f"{self._test} {about}".rstrip()
        assert key not in self._texts, f"two texts of one test need names: golden(text, {about!r})"
        self._texts[key] = self._replace(str(text), {str(value): word for word, value in stand_ins.items()})
        if not self._renews:
            recorded = read_golden(self._file).get(key, "")
            lines = difflib.ndiff(recorded.splitlines(), self._texts[key].splitlines())
            changed = [line for line in lines if not line.startswith("  ")]
            assert not changed, "\n".join((f"{self._file.name}, {key}; if it is meant: --renew-golden", *changed))

    def finish(self) -> None:
        """With --renew-golden, replace this test's recorded texts; a test without texts keeps the old ones."""
        if self._renews and self._texts:
            _record(self._file, self._test, self._texts)

    def _replace(self, text: str, stand_ins: Mapping[str, str]) -> str:
        # The longest first: the prefix must be replaced before the temporary directory that contains it.
        for value, word in sorted({**self._stand_ins, **stand_ins}.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(value, word)
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def golden_file_of(test_file: Path) -> Path:
    """Return the golden file for a test file; it is named after the folder of that file."""
    return DIRECTORY / f"{test_file.parent.name}.txt"


def read_golden(file: Path) -> dict[str, str]:
    """Return the recorded texts by their keys, "FILE::TEST ABOUT"."""
    return _parse(file.read_text("utf-8")) if file.exists() else {}


def find_stale_keys(file: Path) -> Iterator[str]:
    """Yield the keys whose test no longer exists or no longer uses `golden`."""
    tests = {name for path in TESTS.glob(f"**/{file.stem}/test_*.py") for name in _tests_of(path)}
    tests |= {name for path in TESTS.glob("test_*.py") for name in _tests_of(path)}
    yield from (key for key in read_golden(file) if key.split(" ")[0].split("[")[0] not in tests)


@cache
def _tests_of(path: Path) -> frozenset[str]:
    defined = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(
        f"{path.stem}::{node.name}"
        for node in defined
        if isinstance(node, ast.FunctionDef) and any(each.arg == "golden" for each in node.args.args)
    )


def _parse(text: str) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line and not line.startswith(_MARGIN):
            lines = texts.setdefault(line, [])
        else:
            lines.append(line.removeprefix(_MARGIN))
    return {key: "\n".join(lines).strip("\n") for key, lines in texts.items()}


def _record(file: Path, test: str, texts: Mapping[str, str]) -> None:
    file.parent.mkdir(exist_ok=True)
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)  # workers of pytest-xdist record at the same time
        before = read_golden(file)
        kept = {key: text for key, text in before.items() if key != test and not key.startswith(f"{test} ")}
        entries = {**kept, **texts}
        if entries != before:
            written = file.with_suffix(f".{os.getpid()}")
            written.write_text("\n\n".join(_format(key, entries[key]) for key in sorted(entries)) + "\n", "utf-8")
            written.replace(file)
    finally:
        os.close(directory)


def _format(key: str, text: str) -> str:
    return "\n".join((key, *(f"{_MARGIN}{line}".rstrip() for line in text.splitlines())))
