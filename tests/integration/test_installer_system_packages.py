import os
import shlex

import pytest

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import ignore
from fastinstall.core.process import run
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.wheelbuild.system_packages import install_packages, may_install

pytestmark = pytest.mark.skipif(
    find_package_manager(os.environ) != "apt", reason="needs apt, which this system does not use"
)
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "libno-such-thing-dev")
root_only = pytest.mark.skipif(not may_install(), reason="needs root")


def installed() -> str:
    """Return version and state of the package `dpkg`; other packages may be installed meanwhile."""
    return run(("dpkg-query", "--show", "--showformat=${Version} ${Status}", "dpkg")).stdout


@root_only
def test_a_package_that_is_there_stays_as_it_is() -> None:
    before = installed()

    install_packages("apt", ("dpkg",), os.environ, ignore)

    assert installed() == before


@root_only
def test_a_failed_installation_shows_its_last_lines_and_command() -> None:
    with pytest.raises(FailedError, match=INSTALL[-1]) as failed:
        install_packages("apt", INSTALL[-1:], os.environ, ignore)

    assert any(f"Unable to locate package {INSTALL[-1]}" in line for line in failed.value.details)
    assert shlex.join(INSTALL) in (failed.value.hint or "")


def test_whoever_is_not_root_gets_the_command_and_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # faked, because root cannot be an ordinary user

    with pytest.raises(RefusedError, match="only root can install") as refused:
        install_packages("apt", INSTALL[-1:], os.environ, ignore)

    assert "apt-get install " in (refused.value.hint or "")
    assert (refused.value.hint or "").endswith(" libno-such-thing-dev")
