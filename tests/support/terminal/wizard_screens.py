"""Screens of the wizard as reviewed text, below e2e/screens/; `--renew-golden` writes them anew."""

import difflib
import re
from pathlib import Path

from support.index.releases import NEWEST
from support.suite import extent

SCREENS = Path(__file__).parents[2] / "e2e" / "screens"
ROOT = "/home/you/photo"
"""What stands for the directory of a test, as long as those that `tempfile.mkdtemp` makes for "/tmp/fi"."""

_MEASURED = re.compile(
    (
        r"(?:\d+\.\d times )?as fast as pillow (\S+) \(in place\) at decoding, resizing and cropping a 1080p photo"
        r"(?:, within this machine's noise: \S+(?: \(\S+ to \S+\))?)?(?:, measured on [\d-]+)?"
    ).replace(" ", r"\s+")
)
"""The gain of a setup, with the words that a busy machine adds."""
_GAIN = "2.2 times as fast as pillow \\g<1> (in place) at decoding, resizing and cropping\n  a 1080p photo"

_SAME = (
    (re.compile(r"about \d+ (s|min)\b"), "about 60 s"),
    (re.compile(r"(?m)^(CPU  +).*(?:\n  .*)*"), r"\g<1>AMD EPYC, 2 cores, x86-64-v4 (AVX-512)"),
    (re.compile(rf"\b([Pp]illow ){NEWEST}"), r"\g<1>13.0.0"),
    (re.compile(r"(?m)^(Python  +)3\.\d+\.\d+"), r"\g<1>3.11.7"),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.11.7"),
    (_MEASURED, _GAIN),
    (re.compile(r"(?:\d+\.\d times )?as fast as"), "2.2 times as fast as"),
    (re.compile(r"(?m)^Cost  +.*\n(?:  .*\n)*"), ""),  # what the cache of the tests already has costs nothing
    (re.compile(r"(accepted\s+on\s+)[\d-]+"), r"\g<1>2026-11-23"),
    (re.compile(r"(?m)^  \d+\.\dx(?: \(\d+\.\d to \d+\.\d\))? +"), "  2.6x (2.4 to 2.7)    "),
    (re.compile(r"(?ms)^slower: .*?x\)\n"), ""),
    (re.compile(r"\d+(\s+checks passed)"), r"21\g<1>"),
)


def settled(text: str, root: Path) -> str:
    """A conversation with fixed words in place of what another machine or another day would say otherwise."""
    assert len(str(root)) == len(ROOT), "lines would be broken elsewhere"
    text = text.replace(str(root), ROOT)
    for pattern, word in _SAME:
        text = pattern.sub(word, text)
    return text.rstrip() + "\n"


def assert_screen(name: str, text: str) -> None:
    """Compare with what was reviewed."""
    file = SCREENS / f"{name}.txt"
    if extent.renews_golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    lines = difflib.ndiff(file.read_text(encoding="utf-8").splitlines(), text.splitlines())
    changed = [line for line in lines if not line.startswith("  ")]
    assert not changed, "\n".join((f"{file.name} is otherwise; if it is meant: --renew-golden", *changed))
