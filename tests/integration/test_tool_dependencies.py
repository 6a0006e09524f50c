"""What a wheel needs for several Pythons, fetched by pip from a small index of the test's own."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.index.wheels import write_wheel
from support.sandbox import NOBODY_LISTENS, Sandbox

from fastinstall.core.errors import FailedError
from fastinstall.core.files import sha256
from fastinstall.observe.session import open_session
from fastinstall.wheelbuild.package_index.publish import publish_wheel
from fastinstall.wheelbuild.tool_dependencies import DependencyFetching, fetch_needs

PURE = "py3-none-any"


@pytest.fixture
def wheel(sandbox: Sandbox) -> Path:
    """A tool that needs `library`, a binary, and under Python 3.11 `backport`, which needs `deeper`."""
    needs = ("Requires-Dist: library>=1", 'Requires-Dist: backport; python_version < "3.12"')
    return write_wheel(sandbox.root / "tool", "tool", "1", PURE, *needs)


def _fetching(sandbox: Sandbox, wheel: Path, index: str, *, offline: bool = False) -> DependencyFetching:
    variables = {"PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": index, "PIP_FIND_LINKS": None}
    return DependencyFetching(
        wheel=wheel,
        pythons=("3.11", "3.12", "3.13"),
        machine="x86_64",
        cache=sandbox.root / "cache",
        variables=sandbox.variables(variables),
        offline=offline,
    )


def test_each_python_gets_its_needs_and_one_that_cannot_is_named(sandbox: Sandbox, wheel: Path) -> None:
    made = sandbox.root / "made"
    offered = [
        *(write_wheel(made, "library", "1", f"cp3{minor}-cp3{minor}-manylinux_2_17_x86_64") for minor in (11, 12)),
        write_wheel(made, "library", "2", "cp313-cp313-manylinux_2_17_x86_64"),
        write_wheel(made, "backport", "1", PURE, "Requires-Dist: deeper"),
        write_wheel(made, "deeper", "1", PURE),
    ]
    for each in offered:
        publish_wheel(open_session(sandbox.variables()), each, sha256(each), sandbox.root / "index")
    fetching = _fetching(sandbox, wheel, (sandbox.root / "index/simple").as_uri())

    directory, needs = fetch_needs(fetching)

    assert (
        {path.name for path in directory.iterdir()}
        == set(needs.files)
        == {each.name for each in offered} - {"library-2-cp313-cp313-manylinux_2_17_x86_64.whl"}
    )
    assert list(needs.left_out) == ["3.13"]
    assert "library==1" in needs.left_out["3.13"]
    offline = replace(fetching, offline=True)
    assert fetch_needs(offline) == (directory, needs)
    elsewhere = _fetching(sandbox, wheel, f"{NOBODY_LISTENS}/simple", offline=True)
    with pytest.raises(FailedError, match="this run is offline"):
        fetch_needs(elsewhere)


def test_an_unreachable_index_is_a_failure_with_what_pip_said(sandbox: Sandbox, wheel: Path) -> None:
    with pytest.raises(FailedError, match="cannot fetch fastinstall's own dependencies") as caught:
        fetch_needs(_fetching(sandbox, wheel, f"{NOBODY_LISTENS}/simple"))

    assert any("library" in line for line in caught.value.details)


def test_offline_and_not_in_the_cache_is_a_failure(sandbox: Sandbox, wheel: Path) -> None:
    with pytest.raises(FailedError, match="this run is offline"):
        fetch_needs(_fetching(sandbox, wheel, f"{NOBODY_LISTENS}/simple", offline=True))
