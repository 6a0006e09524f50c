"""Flags of bench: the request they make, and refusals that name a wrong flag before anything is measured."""

from pathlib import Path

import pytest

from fastinstall.bench.report import BenchRequest, ImagePipeline
from fastinstall.cli.commands.bench import make_bench_request
from fastinstall.cli.parser import parse
from fastinstall.core.errors import UsageError


def _wish(*words: str) -> BenchRequest:
    return make_bench_request(parse(("bench", *words), {}, [])[0])


def test_without_flags_it_is_the_usual_wish() -> None:
    assert _wish() == BenchRequest()


def test_every_flag_arrives(tmp_path: Path) -> None:
    (tmp_path / "loader.py").touch()
    found = _wish(
        str(tmp_path),
        *("--quick", "--samples", "40", "--size", "512", "--crop", "0", "--filter", "lanczos", "--workers", "4,0,2,2"),
        *("--threads", "8,1,8"),
        *("--target-rate", "1500.5", "--loader", f"{tmp_path}/loader.py", "--candidates", "pillow-draft, fastinstall"),
        *("--with", "all", "--no-build", "--only", "loading"),
    )
    assert found == BenchRequest(
        paths=(tmp_path,),
        pipeline=ImagePipeline(shorter=512, crop=0, filter="lanczos"),
        quick=True,
        samples=40,
        workers=(0, 2, 4),
        threads=(1, 8),
        target_rate=1500.5,
        loader=f"{tmp_path}/loader.py:load",
        candidates=("pillow-draft", "fastinstall"),
        bring=("all",),
        build=False,
        operations=False,
    )


def test_a_small_size_takes_the_crop_with_it() -> None:
    assert _wish("--size", "128").pipeline == ImagePipeline(shorter=128, crop=128)


def test_images_are_told_by_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jpg").touch()
    monkeypatch.chdir(tmp_path)
    assert _wish("a.jpg").paths == (tmp_path / "a.jpg",)


@pytest.mark.parametrize(
    "words",
    [
        ("--samples", "0"),
        ("--samples", "many"),
        ("--workers", "x"),
        ("--workers", "-1"),
        ("--workers", ","),
        ("--threads", "0"),
        ("--threads", ","),
        ("--size", "0"),
        ("--size", "99999"),
        ("--crop", "-1"),
        ("--crop", "300"),
        ("--target-rate", "0"),
        ("--target-rate", "nan"),
        ("--target-rate", "fast"),
        ("--candidates", ","),
        ("--with", ""),
        ("--loader", "/nowhere/loader.py"),
    ],
    ids=" ".join,
)
def test_a_value_that_cannot_be_read_names_its_flag(words: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=f"^{words[0]} ") as caught:
        _wish(*words)
    assert caught.value.hint


def test_images_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="/nowhere/photos"):
        _wish("/nowhere/photos")


@pytest.mark.parametrize(
    ("written", "function"),
    [("mine.py", "load"), ("mine.py:read", "read"), ("a:b.py", "load"), ("a:b.py:read", "read")],
)
def test_a_file_and_its_function_are_told_apart(
    written: str, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine.py", "a:b.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    file = "a:b.py" if written.startswith("a:") else "mine.py"
    assert _wish("--loader", written).loader == f"{tmp_path}/{file}:{function}"


def test_a_function_that_can_have_no_such_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    with pytest.raises(UsageError, match=r"^--loader .*'two words'"):
        _wish("--loader", f"{tmp_path}/mine.py:two words")


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "operations", "."),
        ("--only", "operations", "--workload", "png"),
        ("--only", "operations", "--target-rate", "9"),
        (".", "--workload", "png"),
    ],
    ids=" ".join,
)
def test_flags_that_make_no_sense_together_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        _wish(*words)
