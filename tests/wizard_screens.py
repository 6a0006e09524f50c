"""Screens of the wizard as reviewed text, below e2e/screens/; FASTINSTALL_TEST_RENEW_SCREENS=1 writes them anew."""

import os
import re
from pathlib import Path

SCREENS = Path(__file__).with_name("e2e") / "screens"
RENEW = "FASTINSTALL_TEST_RENEW_SCREENS"
ROOT = "/home/you/photo"
"""What stands for the directory of a test, as long as those that `tempfile.mkdtemp` makes for "/tmp/fi"."""

_PLAN = re.compile(r"(?ms)^pillow\S* \S+ from .*?(?=^ +(1\) )?Proceed)")
_FACTS = re.compile(r"(?ms)^environment  .*?^guard  [^\n]*\n")
_OPERATIONS = re.compile(r"(?ms)^before: .*?^geometric mean[^\n]*\n")
_SAME = (
    (re.compile(r"about \d+ (s|min)\b"), "about 60 s"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "2026-11-22 10:00 UTC"),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.11.7"),
    (re.compile(r"\d+\.\d times as fast as"), "2.6 times as fast as"),
    (re.compile(r"swapped in [\d.]+ ms"), "swapped in 0.50 ms"),
    (re.compile(r"(doctor: )\d+ ok, \d+ skipped"), r"\g<1>21 ok, 2 skipped"),
)


def settled(text: str, root: Path) -> str:
    """A conversation with fixed words in place of what another machine or another day would say otherwise."""
    assert len(str(root)) == len(ROOT), "lines would be broken elsewhere"
    text = _PLAN.sub("[the plan]\n\n", _FACTS.sub("[what was found]\n", text.replace(str(root), ROOT)))
    text = _OPERATIONS.sub("[a table: every operation before and after]\n", text)
    for pattern, word in _SAME:
        text = pattern.sub(word, text)
    return text.rstrip() + "\n"


def assert_screen(name: str, text: str) -> None:
    """Compare with what was reviewed."""
    file = SCREENS / f"{name}.txt"
    if os.environ.get(RENEW):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} is otherwise; look at it and renew it: {RENEW}=1"
