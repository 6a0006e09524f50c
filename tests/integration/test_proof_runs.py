"""Proof cases that die, hang, fail or read memory that they do not own, each in a separate process.

The PIL and its operations are small stand-ins, because the real Pillow does not crash on request.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.environments.interpreters import of_version
from support.machine.needs import require_system

from fastinstall.core.errors import FailedError
from fastinstall.proof.judge import judge_results
from fastinstall.proof.quick import prove_heap, prove_matrix, prove_survival
from fastinstall.proof.runs import ProofPicture, ProofStack, Results, Work, run_cases, sample_cases

OPERATIONS = """
import ctypes, os, signal, time
from PIL import Image

def perform(name):
    operation, mode, size, parameters = name.split("/")
    width, height = map(int, size.split("x"))
    if operation == "raise":
        raise {"ValueError": ValueError, "OSError": OSError}[parameters](f"no {object()}")
    if operation == "die":
        os.kill(os.getpid(), getattr(signal, parameters))
    if operation == "hang":
        open(os.environ.get("MARK", os.devnull), "w").close()
        time.sleep(60)
    if operation == "stray":
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        return [("L", (16, 1), ctypes.string_at(libc.malloc(64) + 32, 16))]
    return [(mode, (width, height), bytes([Image.VALUE]) * (width * height * len(mode)))]
"""


@pytest.fixture
def operations(tmp_path: Path) -> Path:
    path = tmp_path / "_operations.py"
    path.write_text(OPERATIONS)
    (tmp_path / "_runner.py").write_text("")
    return path


def stack(directory: Path, value: int, python: Path = Path(sys.executable)) -> ProofStack:
    package = directory / f"tree-{value}" / "PIL"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "Image.py").write_text(f"VALUE = {value}\ndef init():\n    pass\n")
    return ProofStack(label=str(value), python=python, tree=package.parent, variables=dict(os.environ))


@pytest.fixture
def results() -> Iterator[Results]:
    with Results(processes=2) as made:
        yield made


def test_a_case_that_dies_or_hangs_is_told_and_the_others_go_on(tmp_path: Path, operations: Path) -> None:
    cases = ("fill/L/2x2/", "die/L/1x1/SIGSEGV", "fill/L/3x3/", "hang/L/1x1/", "raise/L/1x1/OSError", "fill/L/2x2/")
    found = run_cases(stack(tmp_path, 7), Work(cases=cases, operations=operations, seconds=3.0))
    assert found["die/L/1x1/SIGSEGV"] == "dies of SIGSEGV"
    assert found["hang/L/1x1/"].endswith("within 3 s")
    assert found["raise/L/1x1/OSError"] == "raises OSError: no <object object at 0x>"
    assert len({found["fill/L/2x2/"], found["fill/L/3x3/"]}) == 2


def test_where_every_case_dies_it_ends_all_the_same(tmp_path: Path, operations: Path) -> None:
    cases = tuple(f"die/L/{number}x1/SIGKILL" for number in range(1, 60))
    found = run_cases(stack(tmp_path, 7), Work(cases=cases, operations=operations))
    assert found[cases[0]] == "dies of SIGKILL"
    assert found[cases[-1]] == "was not reached"


def test_what_a_case_made_can_be_had(tmp_path: Path, operations: Path) -> None:
    work = Work(cases=("fill/RGB/2x1/", "raise/L/1x1/ValueError"), operations=operations)
    assert sample_cases(stack(tmp_path, 9), work) == {"fill/RGB/2x1/": (ProofPicture("RGB", (2, 1), b"\t" * 6),)}


def test_a_stack_whose_pil_cannot_be_imported_is_refused(tmp_path: Path, operations: Path) -> None:
    broken = stack(tmp_path, 7)
    (broken.tree / "PIL/Image.py").write_text("raise ImportError('libjpeg is not there')\n")
    with pytest.raises(FailedError, match="7: ImportError: libjpeg"):
        run_cases(broken, Work(cases=("fill/L/1x1/",), operations=operations))


def test_a_stack_that_dies_when_it_is_imported_is_refused(tmp_path: Path, operations: Path) -> None:
    broken = stack(tmp_path, 7)
    (broken.tree / "PIL/Image.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    with pytest.raises(FailedError, match="7: it dies of SIGILL"):
        run_cases(broken, Work(cases=("fill/L/1x1/",), operations=operations))


def test_a_pil_from_elsewhere_is_refused(tmp_path: Path, operations: Path) -> None:
    real = stack(tmp_path, 7)
    (tmp_path / "other").mkdir()
    (real.tree / "PIL").rename(tmp_path / "other/PIL")
    (real.tree / "PIL.py").write_text(f"import sys; sys.path.insert(0, {str(tmp_path / 'other')!r})\n")
    with pytest.raises(FailedError):
        run_cases(real, Work(cases=("fill/L/1x1/",), operations=operations))


def test_the_matrix_names_cases_beyond_their_bound(tmp_path: Path, operations: Path, results: Results) -> None:
    module = operations.read_text().replace('if operation == "raise":', 'if operation == "raise" and Image.VALUE == 7:')
    operations.write_text(module)
    cases = ("resize/RGB/3x3/", "crop/RGB/3x3/", "raise/L/1x1/OSError")
    found = prove_matrix(
        stack(tmp_path, 7), stack(tmp_path, 9), Work(cases=cases, operations=operations), results, exact=False
    )
    raised, differs = found
    assert (raised.case, "OSError" in raised.problem) == ("raise/L/1x1/OSError", True)
    assert (differs.case, differs.largest, differs.allowed, differs.problem) == ("crop/RGB/3x3/", 2, 0, "")


def test_a_shift_to_one_side_is_reported_though_within_bounds(
    tmp_path: Path, operations: Path, results: Results
) -> None:
    work = Work(cases=("resize/RGB/3x3/", "resize/RGB/20x20/"), operations=operations)
    (found,) = prove_matrix(stack(tmp_path, 7), stack(tmp_path, 8), work, results, exact=False)
    assert (found.case, found.largest) == ("resize/RGB/20x20/", 1)
    assert "-1.00 on average" in found.problem


def test_levels_have_to_be_equal_to_the_bit(tmp_path: Path, operations: Path, results: Results) -> None:
    work = Work(cases=("resize/RGB/3x3/",), operations=operations)
    found = judge_results(stack(tmp_path, 8), stack(tmp_path, 7), work, results, exact=True)
    assert [(each.case, each.largest, each.allowed) for each in found] == [("resize/RGB/3x3/", 1, 0)]


def test_nothing_is_expected_where_the_official_wheel_dies(tmp_path: Path, operations: Path, results: Results) -> None:
    module = operations.read_text().replace('if operation == "die":', 'if operation == "die" and Image.VALUE == 9:')
    operations.write_text(module)
    work = Work(cases=("die/L/1x1/SIGSEGV",), operations=operations)
    assert prove_matrix(stack(tmp_path, 7), stack(tmp_path, 9), work, results, exact=False) == ()
    found = prove_matrix(stack(tmp_path, 9), stack(tmp_path, 7), work, results, exact=False)
    assert [each.problem.partition(";")[0] for each in found] == ["dies of SIGSEGV"]
    assert [each.problem for each in prove_survival(stack(tmp_path, 9), work, results)] == ["dies of SIGSEGV"]


def test_memory_that_nobody_wrote_is_found_by_what_lies_in_it(
    tmp_path: Path, operations: Path, results: Results
) -> None:
    require_system(os.confstr("CS_GNU_LIBC_VERSION"), "the GNU C Library")
    module = operations.read_text().replace('if operation == "stray":', 'if operation == "stray" and Image.VALUE == 7:')
    official = stack(tmp_path, 9)
    work = Work(cases=("stray/L/16x1/", "fill/L/16x1/"), operations=operations)
    assert prove_heap(stack(tmp_path, 7), stack(tmp_path, 7), work, results) == ()
    operations.write_text(module)
    with Results() as again:
        (found,) = prove_heap(stack(tmp_path, 7), official, work, again)
    assert (found.case, "uninitialised" in found.problem) == ("stray/L/16x1/", True)


def test_an_error_ends_every_run(tmp_path: Path, operations: Path) -> None:
    began = time.monotonic()
    mark, variables = tmp_path / "hanging", {**os.environ, "MARK": str(tmp_path / "hanging")}
    known = replace(stack(tmp_path, 7), variables=variables)
    results = Results()

    def interrupted() -> None:
        with results:
            results.start(known, Work(cases=("hang/L/1x1/",), operations=operations, seconds=50.0))
            while not mark.exists():
                time.sleep(0.02)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - began < 40


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.13"])
def test_it_runs_on_other_pythons(tmp_path: Path, operations: Path, version: str) -> None:
    python = of_version(version)
    require_system(python, f"Python {version}")
    assert python is not None
    found = run_cases(stack(tmp_path, 7, python.executable), Work(cases=("fill/L/2x2/",), operations=operations))
    assert found == run_cases(stack(tmp_path, 7), Work(cases=("fill/L/2x2/",), operations=operations))
