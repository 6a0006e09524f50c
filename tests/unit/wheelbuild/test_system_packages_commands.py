import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.wheelbuild.system_packages import install_command

PACKAGES = ("libjpeg-dev", "zlib1g-dev")


def test_the_command_to_paste_has_sudo_for_whoever_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert install_command("apt", PACKAGES).startswith("sudo apt-get install ")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert install_command("dnf", PACKAGES) == "dnf install --assumeyes libjpeg-dev zlib1g-dev"


def test_an_unknown_manager_is_refused_with_the_packages_named() -> None:
    with pytest.raises(RefusedError) as refused:
        install_command("pacman", PACKAGES)

    assert "libjpeg-dev zlib1g-dev" in (refused.value.hint or "")
