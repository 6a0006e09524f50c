"""A training step of the user, timed in an interpreter of its own; whatever it does wrong is told."""

import os
import re
import sys
from pathlib import Path

import interpreters
import pytest

from fastinstall.bench import _step as _step_program
from fastinstall.bench.workloads import rate_of_step
from fastinstall.core.errors import FailedError, UsageError

PYTHON = Path(sys.executable)
SHORT = (0.05, 20.0)
"""Seconds to measure, and for all of it."""


def _step(place: Path, text: str, name: str = "train.py") -> str:
    file = place / name
    file.write_text(text)
    return f"{file}:step"


def _refusal(step: str, times: tuple[float, float] = SHORT) -> str:
    with pytest.raises(FailedError) as caught:
        rate_of_step(PYTHON, step, dict(os.environ), *times)
    return caught.value.message


def test_the_rate_is_that_of_the_images_which_the_calls_took(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import time\ndef forward():\n    time.sleep(0.01)\n")
    text = "import model\nprint('begins')\ndef one():\n    model.forward()\n    print('took 8')\n    return 8\n"
    python = interpreters.of_version("3.8") or interpreters.running()
    rate = rate_of_step(python.executable, f"{_step(tmp_path, text).replace(':step', ':one')}", {}, *SHORT)
    assert 0 < rate <= 800


def test_it_finds_no_module_of_ours_in_place_of_its_own(tmp_path: Path) -> None:
    text = "import sys\ntry:\n    import measure\nexcept ImportError:\n    def step(): return 1\n"
    assert rate_of_step(PYTHON, _step(tmp_path, text), {}, *SHORT) > 0


def test_what_does_not_exist_is_a_wrong_word_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"train.py has no function learn\(\)$"):
        rate_of_step(PYTHON, _step(tmp_path, "step = 3").replace(":step", ":learn"), {}, *SHORT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def step(): return None", "step() gave None, no number of images"),
        ("def step(): return 1 / 0", "step() raises ZeroDivisionError: division by zero"),
        ("import nothing_of_that_name", "cannot be imported: ModuleNotFoundError: No module named"),
        ("import os\ndef step(): os.kill(os.getpid(), 11)", "it was killed by SIGSEGV"),
    ],
)
def test_what_a_step_does_wrong_is_told(tmp_path: Path, text: str, said: str) -> None:
    step = _step(tmp_path, text)
    message = _refusal(step)
    assert message.startswith(f"--step {step}: ")
    assert said in message


@pytest.mark.parametrize("given", [0, -8, True, 2.5, "8", None])
def test_what_is_no_number_of_images_is_refused(given: object) -> None:
    with pytest.raises(_step_program.Trouble, match=re.escape(repr(given))):
        _step_program.images_of(lambda: given)


def test_a_file_that_ends_the_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(_step_program.Trouble, match=r"^SystemExit: 3$"):
        _step_program.function_of(_step(tmp_path, "raise SystemExit(3)").removesuffix(":step"), "step")


def test_a_step_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    step = _step(tmp_path, "import time\ndef step(): time.sleep(60)")
    assert _refusal(step, (0.1, 0.3)) == f"--step {step}: no rate within 0.3 s"
