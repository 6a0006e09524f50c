"""Run the tests in Pillow's sdist on a build and on the official wheel; report tests that only the build fails.

`KNOWN` lists tests that a fork may fail, with the reason and the largest allowed difference.
"""

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import temporary_directories
from fastinstall.core.concurrency import run_together
from fastinstall.core.process import CommandError, Completed, ProcessGroup, run
from fastinstall.core.values import immutable
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.model.facts import Interpreter
from fastinstall.proof.cases import ProofCheck, ProofStatus, skip_proof_check
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.prepare import extract_source
from whole_proof.checks import finish_check

NAME = "pillow's tests"
SELFTEST_NAME = "pillow's self-test"

_REQUIRES = ("pytest",)
_TESTS = "Tests"
_SECONDS = 1200.0
_SHOWN = 40


@immutable
class UpstreamTestEnding:
    """How one test ended.

    Attributes:
        outcome: "passed", "failed" or "skipped".
        message: why it failed or was skipped; empty if it passed.
    """

    outcome: str
    message: str = ""


Results = Mapping[str, UpstreamTestEnding]
"""Endings by the identifier of the test."""


@immutable
class Suite:
    """Pillow's tests, with an environment that can run them.

    Attributes:
        source: top directory of the unpacked sdist.
        python: path of an environment's interpreter; the environment has the packages that the tests need, but not PIL.
        space: a temporary directory.
    """

    source: Path
    python: Path
    space: Path


def prove_suite(
    sdist: Path, interpreter: Interpreter, ours: ProofStack, reference: ProofStack, *, exact: bool
) -> tuple[ProofCheck, ...]:
    """Run Pillow's self-test on the build, and Pillow's tests on both stacks; compare the results of the tests.

    Args:
        sdist: path of Pillow's sdist.
        interpreter: the target's Python.
        ours: the build.
        reference: the official wheel of the same version.
        exact: whether all tests that pass on the official wheel must pass on the build; if False, tests of `KNOWN` may
            fail.
    """
    with temporary_directories.temporary_directory("suite") as space:
        source = extract_source(sdist, space / "source")
        if not (source / _TESTS).is_dir():
            return _skip_checks(f"{sdist.name} brings no tests")
        try:
            python = _make_environment(interpreter, space / "environment", ours.variables)
        except CommandError as error:
            return _skip_checks(f"no environment with {', '.join(_REQUIRES)} could be made: {error.message}")
        suite = Suite(source=source, python=python, space=space)
        return (_run_selftest(suite, ours), _run_tests(suite, ours, reference, exact=exact))


def read_results(report: Path) -> Results:
    """Read a report that pytest wrote with --junitxml.

    Raises:
        OSError: there is no report.
        ET.ParseError: the report is incomplete, because pytest was interrupted.
    """
    root = ET.parse(report).getroot()  # noqa: S314 (written by our own pytest process)
    return {
        f"{case.get('classname', '')}::{case.get('name', '')}": _read_test_ending(case)
        for case in root.iter("testcase")
    }


def compare_results(ours: Results, reference: Results, *, exact: bool) -> Iterator[tuple[str, str]]:
    """Yield the tests that should end as on the official wheel but do not, with a description of the difference.

    A test that passes on the build is never reported. If `exact` is False, tests of `KNOWN` may fail.
    """
    for test in sorted(reference.keys() | ours.keys()):
        mine, theirs = ours.get(test), reference.get(test)
        if mine is None or theirs is None:
            yield test, f"was {'not ' if mine is None else ''}run, unlike on the official wheel"
        elif mine.outcome in ("passed", theirs.outcome) or _is_frugal(test, mine, theirs):
            continue
        elif exact or not _is_known(test, mine):
            message = " ".join(mine.message.split())[:200]
            yield test, f"{mine.outcome}, on the official wheel {theirs.outcome}: {message}"


def _skip_checks(reason: str) -> tuple[ProofCheck, ...]:
    return (skip_proof_check(SELFTEST_NAME, reason), skip_proof_check(NAME, reason))


def _make_environment(interpreter: Interpreter, prefix: Path, variables: Mapping[str, str]) -> Path:
    """Create an environment with the packages that the tests need, and return the path of its interpreter.

    Raises:
        CommandError: the environment cannot be created, or the packages cannot be installed.
    """
    environment = pip_environment(variables)
    run((str(interpreter.executable), "-I", "-m", "venv", "--without-pip", str(prefix)), environment=environment)
    python = prefix / "bin" / "python"
    words = ("install", "--quiet", "--only-binary", ":all:", *_REQUIRES)
    run((*argv_for(replace(interpreter, executable=python)), *words), environment=environment)
    return python


def _make_variables(stack: ProofStack) -> dict[str, str]:
    ours = {"PYTHONPATH": str(stack.tree.absolute()), "PYTHONDONTWRITEBYTECODE": "1", "FASTINSTALL_GUARD": "0"}
    return {**pip_environment(stack.variables), **ours}


def _run_selftest(suite: Suite, stack: ProofStack) -> ProofCheck:
    begun = time.monotonic()
    argv = (suite.python, "selftest.py", "--installed")
    completed = run(argv, directory=suite.source, environment=_make_variables(stack), check=False, timeout=_SECONDS)
    lines = tuple(line for line in completed.stdout.splitlines()[-_SHOWN:] if line.strip())
    passed = completed.exit_code == 0
    return ProofCheck(
        name=SELFTEST_NAME,
        status=ProofStatus.OK if passed else ProofStatus.FAILED,
        summary=lines[-1] if passed and lines else f"it ends with {_describe_exit(completed)}",
        details=() if passed else lines,
        seconds=round(time.monotonic() - begun, 2),
    )


def _run_suite(suite: Suite, stack: ProofStack, number: int, process_group: ProcessGroup) -> Results | str:
    """Run the tests on one stack; return their results, or a sentence that says why there are none."""
    report = suite.space / f"report-{number}.xml"
    quiet = ("-q", "-p", "no:cacheprovider", "--tb=line", "-o", "addopts=", f"--junitxml={report}")
    argv = (suite.python, "-m", "pytest", *quiet, f"--basetemp={suite.space / f'temporary-{number}'}", _TESTS)
    variables = _make_variables(stack)
    completed = run(
        argv, directory=suite.source, environment=variables, check=False, timeout=_SECONDS, process_group=process_group
    )
    try:
        return read_results(report)
    except (OSError, ET.ParseError):
        said = completed.stdout.strip().rpartition("\n")[2]
        return f"{stack.label}: pytest ends with {_describe_exit(completed)}: {said}"


def _run_tests(suite: Suite, ours: ProofStack, reference: ProofStack, *, exact: bool) -> ProofCheck:
    begun = time.monotonic()
    works = [partial(_run_suite, suite, stack, number) for number, stack in enumerate((ours, reference))]
    mine, theirs = run_together(works)
    problems = tuple(results for results in (mine, theirs) if isinstance(results, str))
    if not isinstance(mine, str) and not isinstance(theirs, str):
        problems = tuple(f"{test}: {why}" for test, why in compare_results(mine, theirs, exact=exact))
    endings = {} if isinstance(mine, str) else mine
    failing = sum(ending.outcome == "failed" for ending in endings.values())
    passed = f"{len(endings)} tests end as on the official wheel; {failing} fail there too or are known failures"
    failed = f"{len(problems)} tests end differently than on the official wheel"
    return finish_check(NAME, passed, problems, begun, failed=failed)


def _is_frugal(test: str, mine: UpstreamTestEnding, theirs: UpstreamTestEnding) -> bool:
    counted = _COUNTED.search(mine.message) if mine.outcome == "failed" and theirs.outcome == "passed" else None
    return test == FRUGAL and counted is not None and int(counted["now"]) - int(counted["before"]) == 1


def _is_known(test: str, ended: UpstreamTestEnding) -> bool:
    most = next((most for start, most in KNOWN.items() if test.startswith(start)), None)
    largest = parse_reported_difference(ended.message)
    return ended.outcome == "failed" and most is not None and largest is not None and largest <= most


def _read_test_ending(case: ET.Element) -> UpstreamTestEnding:
    for kind, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(kind)
        if found is not None:
            return UpstreamTestEnding(outcome=outcome, message=found.text or found.get("message") or "")
    return UpstreamTestEnding(outcome="passed")


def _describe_exit(completed: Completed) -> str:
    return completed.signal_name or f"exit code {completed.exit_code}"


_TABLES = re.compile(r"Have:\s*\n(?P<have>.*?)\n\s*Expected:\s*\n(?P<expected>.*?)(?:\n\s*assert\b|$)", re.DOTALL)
_SAMPLE = re.compile(r"\b[0-9a-f]{2}\b")


_COUNTED = re.compile(r"assert \((?P<now>\d+) - (?P<before>\d+)\) == 2\b")

FRUGAL = "Tests.test_image_resample.TestCoreResamplePasses::test_both"
"""A test that expects a resize of rows and columns to create two pictures; the kernel only creates the result."""

KNOWN = {"Tests.test_image_resample.TestImagingCoreResampleAccuracy::test_enlarge_lanczos[": 1}
"""Tests that a fork may fail: prefixes of identifiers, with the largest difference of a sample that a message may show.

The test expects Pillow's rounding of each sample, but the coefficients of the fork's kernels have only 16 bits.
"""


def parse_reported_difference(message: str) -> int | None:
    """Return the largest difference between two tables of samples in a message; None if it has no comparable ones."""
    tables = _TABLES.search(message)
    if tables is None:
        return None
    have, expected = (_SAMPLE.findall(tables[name]) for name in ("have", "expected"))
    if not have or len(have) != len(expected):
        return None
    return max(abs(int(one, 16) - int(other, 16)) for one, other in zip(have, expected, strict=True))
