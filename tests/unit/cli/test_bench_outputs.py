"""Files that bench writes: refused before minutes of measurement where they cannot be written, whole after them."""

import importlib.util
from pathlib import Path

import pytest
from bench_reports import whole_report

from fastinstall.cli.bench.outputs import Outputs, outputs_of, write_outputs
from fastinstall.cli.parser import parse
from fastinstall.core.errors import UsageError


def _outputs(*words: str) -> Outputs:
    return outputs_of(parse(("bench", *words), {}, [])[0])


@pytest.mark.parametrize(("flag", "name"), [("--csv", "a.csv"), ("--chart", "a.png"), ("--html", "a.html")])
def test_a_file_in_no_directory_is_refused_by_its_flag(flag: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^{flag} .*there is no directory"):
        _outputs(flag, f"{tmp_path}/absent/{name}")


@pytest.mark.parametrize("flag", ["--csv", "--chart", "--html"])
def test_a_directory_in_its_place_is_refused(flag: str, tmp_path: Path) -> None:
    (tmp_path / "there.png").mkdir()
    with pytest.raises(UsageError, match=f"^{flag} .*a directory"):
        _outputs(flag, f"{tmp_path}/there.png")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no regular file"):
        _outputs("--csv", f"{tmp_path}/link.csv")


def test_a_picture_is_a_png(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--chart .*PNG") as caught:
        _outputs("--chart", f"{tmp_path}/a.svg")
    assert caught.value.hint == "--chart a.png"


def test_without_matplotlib_a_picture_is_refused_with_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="--chart needs matplotlib") as caught:
        _outputs("--chart", f"{tmp_path}/a.png")
    assert "pip install 'fastinstall[bench]'" in (caught.value.hint or "")


def test_one_file_for_two_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named for two results"):
        _outputs("--csv", f"{tmp_path}/a", "--html", f"{tmp_path}/a")


def test_everything_that_was_asked_for_is_written_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    wanted = ("--csv", f"{tmp_path}/a.csv", "--html", f"{tmp_path}/a.html")
    write_outputs(whole_report(), _outputs(*wanted), told.append)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv", "a.html"]
    assert len(told) == 2
    assert (tmp_path / "a.csv").read_bytes().startswith(b"workload,section,name,metric,")
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


def test_what_is_written_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("of before")
    write_outputs(whole_report(), _outputs("--csv", f"{tmp_path}/a.csv"), lambda _: None)
    assert "of before" not in (tmp_path / "a.csv").read_text()
