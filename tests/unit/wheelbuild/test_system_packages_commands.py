from pathlib import Path

import pytest
from support.values.build_requests import offer_programs

from fastinstall.core.errors import RefusedError
from fastinstall.wheelbuild.system_packages import install_command

PACKAGES = ("libjpeg-dev", "zlib1g-dev")


def test_the_command_to_paste_has_sudo_for_whoever_is_not_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = offer_programs(tmp_path, "sudo")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert install_command("apt", PACKAGES, variables).startswith("sudo apt-get install ")
    assert install_command("apt", PACKAGES, {"PATH": ""}).startswith("as root: apt-get install ")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert install_command("dnf", PACKAGES, variables) == "dnf install --assumeyes libjpeg-dev zlib1g-dev"


def test_an_unknown_manager_is_refused_with_the_packages_named() -> None:
    with pytest.raises(RefusedError) as refused:
        install_command("pacman", PACKAGES, {})

    assert "libjpeg-dev zlib1g-dev" in (refused.value.hint or "")
