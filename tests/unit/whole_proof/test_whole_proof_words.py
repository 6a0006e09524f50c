"""What compilers, sanitizers and Pillow's tests write, read so that two versions of a source can be compared."""

from pathlib import Path

import pytest

from fastinstall.cli.console import Page
from fastinstall.proof.cases import Proof, ProofCheck, ProofStatus, ProofSubject
from whole_proof.sanitizers import ComparableWarning, SanitizerFault, parse_warnings, read_reports
from whole_proof.text import proof_text
from whole_proof.upstream_tests import (
    UpstreamTestEnding,
    compare_results,
    parse_reported_difference,
    read_results,
)

GCC = """\
In file included from src/a.c:9:
src/b.c: In function 'blur':
src/b.c:12:7: warning: unused variable 'row12' [-Wunused-variable]
   12 |   int row12;
src/b.c: At top level:
src/b.c: In function 'turn__source':
src/b.c:30:1: warning: unused parameter 'turn' [-Wunused-parameter]
src/b.c: At top level:
src/b.c:40:1: warning: 'help__source' defined but not used [-Wunused-function]
src/b.c:41:9: note: declared here
"""
SANITIZERS = """\
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000001f40 at pc 0x7f3c bp 0x7ffd sp 0x7ffc
READ of size 1 at 0x602000001f40 thread T0
    #0 0x7f3c0a in __interceptor_memcpy ../../../../src/libsanitizer/asan/asan_interceptors.c:22
    #1 0x7f3c0b in blur__source src/libImaging/BoxBlur.c:54
    #2 0x7f3c0c in ImagingBoxBlur src/libImaging/BoxBlur.c:90
src/libImaging/Filter.c:12:34: runtime error: shift exponent 33 is too large for 32-bit type 'int'
    #0 0x7f3c0d in ImagingFilter src/libImaging/Filter.c:12
"""
TABLES = "E   AssertionError: \n  Have: \n  e1 0a\n  10 20\n  \n  Expected: \n  e0 0a\n  10 23\n  assert 225 == 224"


def test_a_warning_is_told_by_function_kind_and_text_and_not_by_its_line() -> None:
    assert parse_warnings(GCC) == {
        ComparableWarning(file="src/b.c", function="blur", kind="-Wunused-variable", text="unused variable 'row12'"),
        ComparableWarning(file="src/b.c", function="turn", kind="-Wunused-parameter", text="unused parameter 'turn'"),
        ComparableWarning(file="src/b.c", function="", kind="-Wunused-function", text="'help' defined but not used"),
    }
    moved = GCC.replace("src/b.c:12:", "src/b.c:99:").replace("__source", "")
    assert parse_warnings(moved) == parse_warnings(GCC)


def test_a_report_is_told_by_kind_and_innermost_function_of_the_source() -> None:
    assert read_reports(SANITIZERS) == {
        SanitizerFault(kind="heap-buffer-overflow", function="blur"),
        SanitizerFault(kind="shift exponent N is too large for N-bit type 'int'", function="ImagingFilter"),
    }
    assert read_reports("all is well\n") == frozenset()


@pytest.mark.parametrize(
    ("message", "difference"),
    [(TABLES, 3), ("assert 3 == 4", None), (TABLES.replace("  10 23\n", ""), None)],
)
def test_the_difference_between_two_tables_is_the_largest_of_one_sample(message: str, difference: int | None) -> None:
    assert parse_reported_difference(message) == difference


def test_only_tests_that_end_worse_than_on_the_official_wheel_are_told() -> None:
    failed, passed, skipped = (
        UpstreamTestEnding(outcome="failed", message="no"),
        UpstreamTestEnding(outcome="passed"),
        UpstreamTestEnding(outcome="skipped"),
    )
    ours = {"same": failed, "worse": failed, "better": passed, "left-out": skipped, "gained": passed}
    theirs = {"same": failed, "worse": passed, "better": failed, "left-out": passed, "lost": passed}
    told = dict(compare_results(ours, theirs, exact=False))
    assert set(told) == {"worse", "left-out", "gained", "lost"}
    assert told["worse"] == "failed, on the official wheel passed: no"


def test_a_known_difference_is_allowed_to_a_fork_up_to_its_bound() -> None:
    test = "Tests.test_image_resample.TestImagingCoreResampleAccuracy::test_enlarge_lanczos[RGB]"
    theirs = {test: UpstreamTestEnding(outcome="passed")}
    near = {test: UpstreamTestEnding(outcome="failed", message=TABLES.replace("10 23", "10 21"))}
    far = {test: UpstreamTestEnding(outcome="failed", message=TABLES)}
    assert dict(compare_results(near, theirs, exact=False)) == {}
    assert set(dict(compare_results(far, theirs, exact=False))) == {test}
    assert set(dict(compare_results(near, theirs, exact=True))) == {test}


def test_what_pytest_wrote_is_read_by_outcome(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="b"/>'
        '<testcase classname="a" name="c"><failure message="short">long</failure></testcase>'
        '<testcase classname="a" name="d"><skipped message="no codec"/></testcase></testsuite></testsuites>'
    )
    assert read_results(report) == {
        "a::b": UpstreamTestEnding(outcome="passed"),
        "a::c": UpstreamTestEnding(outcome="failed", message="long"),
        "a::d": UpstreamTestEnding(outcome="skipped", message="no codec"),
    }


def test_a_proof_is_told_check_by_check_with_what_failed() -> None:
    subject = ProofSubject(wheel_sha256="", reference_sha256="", python="", cpu="", levels=("x86-64-v3",))
    checks = (
        ProofCheck(name="heap", status=ProofStatus.OK, summary="all the same", seconds=1.25),
        ProofCheck(name="speed", status=ProofStatus.FAILED, summary="0.2 times", details=("lanczos: 9 ms",), seconds=2),
        ProofCheck(name="suite", status=ProofStatus.SKIPPED, summary="no index"),
    )
    assert proof_text(Proof(subject=subject, checks=checks, seconds=9.6), Page()).splitlines() == [
        "ok       heap      1.2 s  all the same",
        "failed   speed     2.0 s  0.2 times",
        "    lanczos: 9 ms",
        "skipped  suite     0.0 s  no index",
        "not proven for x86-64-v3 in 10 s: speed",
    ]
