"""A build's requirements: read, found in the cache, and isolated from the user's settings."""

from pathlib import Path

import pytest
from support.values.build_requests import build_request

from fastinstall.core.errors import FailedError
from fastinstall.wheelbuild.requirements import fetch_requirements, read_build_system


def test_the_requirements_are_those_of_the_build_system(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = ["pybind11", "setuptools>=77"]\n')
    assert read_build_system(tmp_path).requires == ("pybind11", "setuptools>=77")


@pytest.mark.parametrize("text", [None, "[project]\nname = 'a'\n"])
def test_without_a_build_system_it_is_setuptools(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert read_build_system(tmp_path).requires == ("setuptools>=40.8.0",)


@pytest.mark.parametrize("text", ["[build-system", "[build-system]\n", "build-system = 1\n"])
def test_a_malformed_build_system_fails_and_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(FailedError, match=r"pyproject\.toml"):
        read_build_system(tmp_path)


def test_a_build_that_requires_nothing_starts_no_pip(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "b"\n')
    assert fetch_requirements(build_request(tmp_path), tmp_path) == ()
