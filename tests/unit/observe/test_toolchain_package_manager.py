from pathlib import Path

import pytest
from support.values.build_requests import offer_programs

from fastinstall.observe.toolchain import find_package_manager


@pytest.mark.parametrize(
    ("programs", "manager"),
    [
        (("apt-get", "dpkg"), "apt"),
        (("dnf", "rpm"), "dnf"),
        (("zypper", "rpm"), "zypper"),
        (("pacman",), "pacman"),
        (("apk",), "apk"),
        (("apt-get",), None),
        ((), None),
    ],
)
def test_the_package_manager_is_told_by_its_programs(
    tmp_path: Path, programs: tuple[str, ...], manager: str | None
) -> None:
    assert find_package_manager(offer_programs(tmp_path, *programs)) == manager
