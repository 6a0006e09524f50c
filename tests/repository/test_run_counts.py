"""Several runs of pytest are summarised in one line like pytest's own."""

from pathlib import Path

from support.suite.run_counts import closing_line, read_counts, write_counts


def test_runs_are_summed_up_as_pytest_closes_one(tmp_path: Path) -> None:
    for name, counts in {"here": {"passed": 2, "failed": 1}, "there": {"passed": 3, "error": 2}}.items():
        (tmp_path / name).mkdir()
        write_counts(counts, tmp_path / name)
    line = closing_line(read_counts([tmp_path / "here", tmp_path / "there", tmp_path / "absent"]), 3725.5)
    assert line.strip("= ") == "1 failed, 5 passed, 2 errors in 3725.50s (1:02:05)"


def test_a_run_without_tests_says_so() -> None:
    assert closing_line({}, 0.0).strip("= ") == "no tests ran in 0.00s (0:00:00)"
