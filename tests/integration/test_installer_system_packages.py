import os
from pathlib import Path

import pytest

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Event, ignore
from fastinstall.core.process import run
from fastinstall.wheelbuild.system_packages import (
    include_directories,
    install_packages,
    may_install,
    package_manager,
    unpack_headers,
)

pytestmark = pytest.mark.skipif(
    package_manager(os.environ) != "apt", reason="needs apt, which this system does not use"
)
root_only = pytest.mark.skipif(not may_install(), reason="needs root")


def unpacked(cache: Path, *packages: str) -> Path:
    return unpack_headers("apt", packages, cache, ignore)


def installed() -> str:
    return run(("dpkg-query", "--show")).stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache é")


def test_headers_are_unpacked_and_the_system_stays_as_it_was(cache: Path) -> None:
    before = installed()

    common, own = include_directories(unpacked(cache, "libtiff-dev", "libopenjp2-7-dev"))

    assert list(own.glob("tiff.h"))
    assert list(common.glob("openjpeg-*/openjpeg.h"))
    assert installed() == before


def test_a_transitional_package_brings_the_headers_that_it_stands_for(cache: Path) -> None:
    directories = include_directories(unpacked(cache, "libjpeg-dev"))

    assert [path.name for directory in directories for path in directory.glob("jpeglib.h")] == ["jpeglib.h"]
    assert [path.name for directory in directories for path in directory.glob("jconfig.h")] == ["jconfig.h"]


def test_a_second_request_is_answered_from_the_cache(cache: Path) -> None:
    first = unpacked(cache, "zlib1g-dev")
    changed = first.stat().st_ctime_ns
    events: list[Event] = []

    assert unpack_headers("apt", ("zlib1g-dev",), cache, events.append) == first
    assert (first.stat().st_ctime_ns, events) == (changed, [])


def test_without_package_lists_of_the_system_private_ones_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lists" / "partial").mkdir(parents=True)
    settings = tmp_path / "apt.conf"
    settings.write_text(f'Dir::State::lists "{tmp_path}/lists";\n')
    monkeypatch.setenv("APT_CONFIG", str(settings))

    include, *_ = include_directories(unpacked(tmp_path / "cache", "zlib1g-dev"))

    assert (include / "zlib.h").is_file()
    assert [path.name for path in (tmp_path / "lists").iterdir()] == ["partial"]


def test_a_package_that_apt_does_not_know_is_named_with_apts_words(cache: Path) -> None:
    with pytest.raises(FailedError, match="libno-such-thing-dev") as failed:
        unpacked(cache, "zlib1g-dev", "libno-such-thing-dev")

    assert any("libno-such-thing-dev" in line or "No packages found" in line for line in failed.value.details)
    assert "apt-get install" in (failed.value.hint or "")
    assert not list((cache / "headers").glob("fastinstall-*"))


@root_only
def test_a_package_that_is_there_stays_as_it_is() -> None:
    before = installed()

    install_packages("apt", ("dpkg",), ignore)

    assert installed() == before


@root_only
def test_an_installation_that_fails_shows_the_last_lines_and_the_command() -> None:
    with pytest.raises(FailedError, match="libno-such-thing-dev") as failed:
        install_packages("apt", ("libno-such-thing-dev",), ignore)

    assert any("Unable to locate package libno-such-thing-dev" in line for line in failed.value.details)
    assert "apt-get install --yes --no-install-recommends libno-such-thing-dev" in (failed.value.hint or "")


def test_whoever_is_not_root_gets_the_command_and_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # the one thing here that cannot be had as root

    with pytest.raises(RefusedError, match="only root can install") as refused:
        install_packages("apt", ("libno-such-thing-dev",), ignore)

    assert refused.value.hint == "sudo apt-get install --yes --no-install-recommends libno-such-thing-dev"
