"""Which Pythons and architectures fastinstall itself can be shipped for; making and fetching wheels is simulated."""

from pathlib import Path

import pytest
from support.index.wheels import write_wheel
from support.values.sessions import a_session

from fastinstall.core.errors import FailedError
from fastinstall.fleet.tool_wheels import fetch_tool


def _fail_on(monkeypatch: pytest.MonkeyPatch, wheel: Path, *failing: str) -> None:
    def fetch(_requirements: object, minor: str, machine: str, *_: object, **__: object) -> tuple[Path, ...]:
        if machine in failing:
            raise FailedError(f"no wheels for {minor} on {machine}", hint="wait")
        return (wheel,)

    monkeypatch.setattr("fastinstall.fleet.tool_wheels.make_tool_wheel", lambda *_, **__: wheel)
    monkeypatch.setattr("fastinstall.fleet.tool_wheels.fetch_dependencies", fetch)


def test_one_architecture_without_dependencies_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = write_wheel(tmp_path, "fastinstall", "0.1.0")
    _fail_on(monkeypatch, wheel, "aarch64")
    tool, files = fetch_tool(a_session(tmp_path), tmp_path / "wheels", machines=("aarch64", "x86_64"))
    assert set(files) == {wheel.name}
    assert tool.pythons == ()
    assert "aarch64" in next(iter(tool.left_out.values()))


def test_no_dependencies_for_any_architecture_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_on(monkeypatch, write_wheel(tmp_path, "fastinstall", "0.1.0"), "aarch64", "x86_64")
    with pytest.raises(FailedError, match="on aarch64"):
        fetch_tool(a_session(tmp_path), tmp_path / "wheels", machines=("aarch64", "x86_64"))
