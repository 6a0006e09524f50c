"""The page that bench writes: refused before minutes of measurement where it cannot be written, whole after them."""

from pathlib import Path

import pytest
from support.bench.reports import whole_report

from fastinstall.cli.bench.html_page import parse_page_path, write_page
from fastinstall.core.errors import UsageError


def test_a_file_in_no_directory_is_refused_by_its_flag(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--html .*there is no directory"):
        parse_page_path(f"{tmp_path}/absent/a.html")


def test_a_directory_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--html .*a directory"):
        parse_page_path(str(tmp_path))


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no regular file"):
        parse_page_path(f"{tmp_path}/link.html")


def test_without_the_flag_there_is_no_page() -> None:
    assert parse_page_path(None) is None


def test_what_is_written_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("of before")
    page = parse_page_path(f"{tmp_path}/a.html")
    assert page is not None
    write_page(whole_report(), page)
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]
