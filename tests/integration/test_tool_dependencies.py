"""The wheels that a lock file lists for several Pythons, downloaded by pip from a small local index."""

from pathlib import Path

import pytest
from support.index.wheels import write_wheel
from support.sandbox import NOBODY_LISTENS, Sandbox

from fastinstall.core.errors import FailedError
from fastinstall.core.files import sha256
from fastinstall.observe.session import open_session
from fastinstall.wheelbuild.package_index import publish_wheel
from fastinstall.wheelbuild.requirements import fetch_dependencies

PURE = "py3-none-any"


def _fetch(sandbox: Sandbox, lock: Path, minor: str, index: str, *, offline: bool = False) -> set[str]:
    settings = {"PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": index, "PIP_FIND_LINKS": None}
    variables = sandbox.variables(settings)
    wheels = fetch_dependencies(lock, minor, "x86_64", sandbox.root / "cache", variables, offline=offline)
    return {path.name for path in wheels}


@pytest.fixture
def wheels(sandbox: Sandbox) -> tuple[Path, ...]:
    """Return wheels: a library for two Pythons, a package that only Python 3.11 needs, and a later library."""
    made = sandbox.root / "made"
    return (
        *(write_wheel(made, "library", "1", f"cp3{minor}-cp3{minor}-manylinux_2_17_x86_64") for minor in (11, 12)),
        write_wheel(made, "backport", "1", PURE, "Requires-Dist: deeper"),
        write_wheel(made, "library", "2", PURE),
    )


@pytest.fixture
def lock(sandbox: Sandbox, wheels: tuple[Path, ...]) -> Path:
    first, second, backport, _later = map(sha256, wheels)
    path = sandbox.root / "lock.txt"
    path.write_text(
        f"backport==1 ; python_full_version < '3.12' \\\n    --hash=sha256:{backport}\n    # via tool\n"
        f"library==1 \\\n    --hash=sha256:{first} \\\n    --hash=sha256:{second}\n"
    )
    return path


@pytest.fixture
def index(sandbox: Sandbox, wheels: tuple[Path, ...]) -> str:
    for wheel in wheels:
        publish_wheel(open_session(sandbox.variables()), wheel, sha256(wheel), sandbox.root / "index")
    return (sandbox.root / "index/simple").as_uri()


def test_each_python_gets_the_locked_wheels_and_keeps_them(
    sandbox: Sandbox, wheels: tuple[Path, ...], lock: Path, index: str
) -> None:
    first, second, backport, _later = (wheel.name for wheel in wheels)
    assert _fetch(sandbox, lock, "3.11", index) == {first, backport}
    assert _fetch(sandbox, lock, "3.12", index) == {second}
    assert _fetch(sandbox, lock, "3.11", f"{NOBODY_LISTENS}/simple", offline=True) == {first, backport}


def test_a_python_without_a_locked_wheel_is_a_failure(sandbox: Sandbox, lock: Path, index: str) -> None:
    with pytest.raises(FailedError, match=r"dependencies for Python 3\.13") as caught:
        _fetch(sandbox, lock, "3.13", index)
    assert any("library==1" in line for line in caught.value.details)


def test_another_file_than_the_locked_one_is_refused(
    sandbox: Sandbox, wheels: tuple[Path, ...], lock: Path, index: str
) -> None:
    lock.write_text(lock.read_text().replace(sha256(wheels[1]), 64 * "0"))
    with pytest.raises(FailedError, match=r"dependencies for Python 3\.12"):
        _fetch(sandbox, lock, "3.12", index)


def test_an_unreachable_index_is_a_failure_with_what_pip_said(sandbox: Sandbox, lock: Path) -> None:
    with pytest.raises(FailedError, match="cannot fetch fastinstall's own dependencies") as caught:
        _fetch(sandbox, lock, "3.11", f"{NOBODY_LISTENS}/simple")
    assert any("backport" in line for line in caught.value.details)


def test_offline_and_not_in_the_cache_is_a_failure(sandbox: Sandbox, lock: Path) -> None:
    with pytest.raises(FailedError, match="this run is offline"):
        _fetch(sandbox, lock, "3.11", f"{NOBODY_LISTENS}/simple", offline=True)
