"""`cache` on the command line, with a cache of real files."""

import json
import os
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.suite.golden import Golden

from fastinstall.cli.main import main
from fastinstall.core.errors import ExitCode
from fastinstall.core.temporary_directories import temporary_directory

Told = pytest.CaptureFixture[str]
KIB = 1024


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    place = tmp_path / "cache"
    monkeypatch.setenv("FASTINSTALL_CACHE_DIR", str(place))
    for name, kib in (("downloads/ab/abcd/a.whl", 64), ("toolchains/clang-1/cc", 256), ("durations.json", 1)):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(kib * KIB))
    (place / "toolchains/clang-1").chmod(0o500)
    return place


def show(capsys: Told, *words: str) -> dict[str, object]:
    assert main(["cache", "show", "--json", *words]) == ExitCode.OK
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMAS["cache"]())
    return document


def names(document: dict[str, object]) -> list[str]:
    parts = document["parts"]
    assert isinstance(parts, list)
    return [part["name"] for part in parts]


def test_the_largest_part_comes_first_and_all_add_up(cache: Path, capsys: Told) -> None:
    document = show(capsys)
    assert names(document) == ["toolchains", "downloads"]
    parts = document["parts"]
    assert isinstance(parts, list)
    assert parts[0]["disk_bytes"] >= 256 * KIB > parts[1]["disk_bytes"] >= 64 * KIB
    assert document["disk_bytes"] == sum(part["disk_bytes"] for part in parts)
    assert document["directory"] == str(cache)


def test_a_file_with_two_names_counts_once(cache: Path, capsys: Told) -> None:
    before = show(capsys, "downloads")["disk_bytes"]
    os.link(cache / "downloads/ab/abcd/a.whl", cache / "downloads/b.whl")
    assert show(capsys, "downloads")["disk_bytes"] == before


def test_nothing_is_removed_unasked(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "toolchains"]) == ExitCode.REFUSED
    assert "fastinstall cache clear --yes toolchains" in capsys.readouterr().err
    assert (cache / "toolchains/clang-1/cc").exists()


def test_a_named_part_goes_and_the_rest_stays(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "--yes", "--json", "toolchains"]) == ExitCode.OK
    removed = json.loads(capsys.readouterr().out)
    assert (removed["removed"], names(removed)) == (True, ["toolchains"])
    assert not (cache / "toolchains").exists()
    assert names(show(capsys)) == ["downloads"]


def test_all_of_it_goes_but_what_setups_remember(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK
    capsys.readouterr()
    assert names(show(capsys)) == []
    assert (cache / "durations.json").exists()


def test_a_cache_that_a_run_works_with_is_left_alone(cache: Path, capsys: Told) -> None:
    with temporary_directory("build", within=cache / "tmp"):
        assert main(["cache", "clear", "--yes"]) == ExitCode.REFUSED
    assert "another run works with it" in capsys.readouterr().err
    assert (cache / "toolchains/clang-1/cc").exists()
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK


def test_a_run_that_ends_meanwhile_is_in_nobodys_way(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastinstall.verbs.cache._list_work", lambda _cache: iter((cache / "tmp/fastinstall-gone",)))
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK
    assert not (cache / "toolchains").exists()


@pytest.mark.usefixtures("cache")
def test_an_unknown_part_is_named_with_those_that_there_are(capsys: Told, golden: Golden) -> None:
    assert main(["cache", "clear", "--yes", "toolchain"]) == ExitCode.USAGE
    golden(capsys.readouterr().err)


@pytest.mark.usefixtures("cache")
def test_an_empty_cache_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTINSTALL_CACHE_DIR", str(tmp_path / "absent"))
    assert main(["cache"]) == ExitCode.OK
    assert main(["cache", "clear"]) == ExitCode.OK
    assert not (tmp_path / "absent").exists()
