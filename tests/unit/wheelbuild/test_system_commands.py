from pathlib import Path

import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.core.events import ignore
from fastinstall.wheelbuild.system_packages import include_directories, install_command, package_manager, unpack_headers

PACKAGES = ("libjpeg-dev", "zlib1g-dev")


def directory_of(tmp_path: Path, *programs: str) -> dict[str, str]:
    for program in programs:
        path = tmp_path / program
        path.write_text("#!/bin/false\n")
        path.chmod(0o755)
    return {"PATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("programs", "manager"),
    [(("apt-get", "dpkg"), "apt"), (("dnf", "rpm"), "dnf"), (("apt-get",), None), (("pacman",), None), ((), None)],
)
def test_the_package_manager_is_told_by_its_programs(
    tmp_path: Path, programs: tuple[str, ...], manager: str | None
) -> None:
    assert package_manager(directory_of(tmp_path, *programs)) == manager


def test_the_command_to_paste_has_sudo_for_whoever_is_not_root() -> None:
    assert install_command("apt", PACKAGES, root=False).startswith("sudo apt-get install ")
    assert install_command("dnf", PACKAGES, root=True) == "dnf install --assumeyes libjpeg-dev zlib1g-dev"


def test_an_unknown_manager_is_refused_with_the_packages_named() -> None:
    with pytest.raises(RefusedError) as refused:
        install_command("pacman", PACKAGES)

    assert "libjpeg-dev zlib1g-dev" in (refused.value.hint or "")


def test_headers_of_dnf_are_refused_with_the_command_that_installs_them(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="only be unpacked from apt's packages") as refused:
        unpack_headers("dnf", ("libjpeg-turbo-devel",), tmp_path, ignore)

    assert "dnf install --assumeyes libjpeg-turbo-devel" in (refused.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_include_directories_are_the_common_one_and_that_of_the_architecture(tmp_path: Path) -> None:
    include = tmp_path / "usr" / "include"
    for name in ("x86_64-linux-gnu", "openjpeg-2.5"):
        (include / name).mkdir(parents=True)

    assert include_directories(tmp_path) == (include, include / "x86_64-linux-gnu")
    assert include_directories(tmp_path / "elsewhere") == ()
