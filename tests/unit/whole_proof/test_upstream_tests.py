from pathlib import Path

import pytest

from whole_proof.upstream_tests import (
    FRUGAL,
    UpstreamTestEnding,
    compare_results,
    parse_reported_difference,
    read_results,
)

TABLES = "E   AssertionError: \n  Have: \n  e1 0a\n  10 20\n  \n  Expected: \n  e0 0a\n  10 23\n  assert 225 == 224"


@pytest.mark.parametrize(
    ("message", "difference"),
    [(TABLES, 3), ("assert 3 == 4", None), (TABLES.replace("  10 23\n", ""), None)],
)
def test_two_tables_differ_by_their_largest_sample_difference(message: str, difference: int | None) -> None:
    assert parse_reported_difference(message) == difference


def test_only_results_worse_than_the_official_ones_are_reported() -> None:
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


@pytest.mark.parametrize(
    ("test", "message", "told"),
    [
        (FRUGAL, "E       assert (37100 - 37099) == 2", False),
        (FRUGAL, "E       assert (37102 - 37099) == 2", True),
        (FRUGAL, "MemoryError", True),
        ("another", "E       assert (37100 - 37099) == 2", True),
    ],
)
def test_a_resize_may_make_one_image_where_the_official_has_two(test: str, message: str, *, told: bool) -> None:
    ours = {test: UpstreamTestEnding(outcome="failed", message=message)}
    theirs = {test: UpstreamTestEnding(outcome="passed")}
    assert bool(dict(compare_results(ours, theirs, exact=True))) == told


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
