from dataclasses import replace
from pathlib import Path

import pytest
from support.values.build_requests import build_request

from fastinstall.core.errors import FailedError
from fastinstall.index.header_packages import read_header_packages
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.linking import refuse_misfit


def _with_fetched_headers(directory: Path) -> BuildRequest:
    return replace(build_request(directory), header_packages=tuple(read_header_packages().artefacts().values()))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("jpeg", "libjpeg-32d42e18.so.62.4.0"),
        ("tiff", "libtiff-295fd75c.so.6.2.0"),
        ("jpeg2000", "libopenjp2-94e588ba.so.2.5.4"),
        ("xcb", "libxcb-64009ff3.so.1.1.0"),
        ("zlib", "libz.so.1"),
    ],
)
def test_fetched_headers_are_for_what_official_wheels_have(name: str, file: str, tmp_path: Path) -> None:
    refuse_misfit(_with_fetched_headers(tmp_path), name, file)


@pytest.mark.parametrize(
    ("name", "file"),
    [("tiff", "libtiff-295fd75c.so.7.0.0"), ("tiff", "libtiff.so.60"), ("jpeg2000", "libopenjp2-94e588ba.so.2.6.0")],
)
def test_another_version_of_a_library_is_refused_with_its_name(name: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=file):
        refuse_misfit(_with_fetched_headers(tmp_path), name, file)


def test_system_headers_are_accepted_whatever_their_version(tmp_path: Path) -> None:
    refuse_misfit(build_request(tmp_path), "tiff", "libtiff-295fd75c.so.7.0.0")
