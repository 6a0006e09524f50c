"""Findings have the form that CONTRIBUTING.md describes, and findings/run reports the result of each."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

FINDINGS = Path(__file__).parents[2] / "findings"
SCRIPTS = sorted(FINDINGS.glob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_finding_says_what_and_why_and_pins_packages(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    parts = re.findall(r"^# (One would guess|What happens|Why|Whom it hurts): ", text, re.MULTILINE)
    assert parts == ["One would guess", "What happens", "Why", "Whom it hurts"]
    packages = re.findall(r"^    (\S+==.*?)(?: \\| \|\| exit 69)$", text, re.MULTILINE)
    assert packages != []
    assert [
        package for line in packages for package in line.split() if not re.fullmatch(r"[\w-]+==[\d.]+", package)
    ] == []


def test_the_page_lists_every_finding() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", (FINDINGS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize(
    ("statuses", "words", "status"),
    [((0,), ["holds"], 0), ((69, 1, 69), ["not run", "changed", "not run"], 1), ((0, 69), ["holds", "not run"], 69)],
)
def test_run_tells_changed_from_not_run(
    tmp_path: Path, statuses: tuple[int, ...], words: list[str], status: int
) -> None:
    shutil.copy(FINDINGS / "run", tmp_path)
    for number, ending in enumerate(statuses):
        (tmp_path / f"finding-{number}.sh").write_text(f"echo seen\nexit {ending}\n", encoding="utf-8")
    ran = subprocess.run(("sh", tmp_path / "run"), capture_output=True, text=True, check=False)
    assert [line[:8].strip() for line in ran.stdout.splitlines()] == words
    assert ran.returncode == status
