"""The wizard's screens as reviewed text in e2e/screens/; `--renew-golden` rewrites them."""

import difflib
import re
from pathlib import Path

from support.index.releases import NEWEST
from support.suite import extent

SCREENS = Path(__file__).parents[2] / "e2e" / "screens"
ROOT = "/home/you/photo"
"""Replaces a test's directory; it has the length of paths from `tempfile.mkdtemp` with the prefix "/tmp/fi"."""

_MEASURED = re.compile(
    (
        r"(?:\d+\.\d times )?as fast as pillow (\S+) \(in place\) at decoding, resizing and cropping a 1080p photo"
        r"(?:, within this machine's noise: \S+(?: \(\S+ to \S+\))?)?(?:, measured on [\d-]+)?"
    ).replace(" ", r"\s+")
)
"""Matches the measured gain of a setup, with the further words that a busy machine causes."""
_GAIN = "2.2 times as fast as pillow \\g<1> (in place) at decoding, resizing and cropping\n  a 1080p photo"

_SAME = (
    (re.compile(r"about \d+ (s|min)\b"), "about 60 s"),
    (re.compile(r"(?m)^(CPU  +).*(?:\n  .*)*"), r"\g<1>AMD EPYC, 2 cores, x86-64-v4 (AVX-512)"),
    (re.compile(rf"\b([Pp]illow ){NEWEST}"), r"\g<1>13.0.0"),
    (re.compile(r"(?m)^(Python  +)3\.\d+\.\d+"), r"\g<1>3.11.7"),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.11.7"),
    (_MEASURED, _GAIN),
    (re.compile(r"(?:\d+\.\d times )?as fast as"), "2.2 times as fast as"),
    (re.compile(r"(?m)^Cost  +.*\n(?:  .*\n)*"), ""),  # the cost depends on the content of the tests' cache
    (re.compile(r"(accepted\s+on\s+)[\d-]+"), r"\g<1>2026-11-23"),
    (re.compile(r"(?m)^  \d+\.\dx(?: \(\d+\.\d to \d+\.\d\))? +"), "  2.6x (2.4 to 2.7)    "),
    (re.compile(r"(?ms)^slower: .*?x\)\n"), ""),
    (re.compile(r"\d+(\s+checks passed)"), r"21\g<1>"),
)


def settled(text: str, root: Path) -> str:
    """Return a screen with fixed words in place of all that depends on the machine or the day."""
    assert len(str(root)) == len(ROOT), "lines would be broken elsewhere"
    text = text.replace(str(root), ROOT)
    for pattern, word in _SAME:
        text = pattern.sub(word, text)
    return text.rstrip() + "\n"


def assert_screen(name: str, text: str) -> None:
    """Compare a screen with the reviewed one; with `--renew-golden`, first overwrite the reviewed one."""
    file = SCREENS / f"{name}.txt"
    if extent.renews_golden:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    lines = difflib.ndiff(file.read_text(encoding="utf-8").splitlines(), text.splitlines())
    changed = [line for line in lines if not line.startswith("  ")]
    assert not changed, "\n".join((f"{file.name} is otherwise; if it is meant: --renew-golden", *changed))
