"""Wheelhouse transfer: which files the controller sends to a host, and which it refuses before sending any."""

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure  # type: ignore[import-untyped]  # untyped
from integration.ansible_role.plays import COLLECTION

_SPECIFICATION = importlib.util.spec_from_file_location(
    "shipping", COLLECTION / "plugins" / "action" / "fastinstall_wheelhouse.py"
)
assert _SPECIFICATION is not None
assert _SPECIFICATION.loader is not None
shipping: Any = importlib.util.module_from_spec(_SPECIFICATION)
_SPECIFICATION.loader.exec_module(shipping)

WHEEL, OTHER, TOOL = "pillow-1-cp311.whl", "pillow-1-cp312.whl", "fastinstall-1-py3-none-any.whl"


def test_a_host_gets_all_of_a_wheelhouse_for_one_kind_of_machine(tmp_path: Path) -> None:
    manifest, paths = shipping.manifest_for(_wheelhouse(tmp_path), "web1")
    assert set(manifest["wanted"]) == {WHEEL, OTHER}
    assert set(manifest["tool"]) == {TOOL}
    assert paths[f"tool/{TOOL}"] == tmp_path / "tool" / TOOL


def test_of_a_fleet_s_wheelhouse_a_host_gets_its_own_wheel(tmp_path: Path) -> None:
    manifest, _ = shipping.manifest_for(_fleet(tmp_path), "web1")
    assert set(manifest["wanted"]) == {WHEEL}
    assert manifest["sums"]["SHA256SUMS"] == f"{_digest(WHEEL)}  {WHEEL}\n"


def test_to_look_at_a_host_only_the_tool_is_sent(tmp_path: Path) -> None:
    manifest, _ = shipping.manifest_for(_fleet(tmp_path), None)
    assert manifest["wanted"] == {}
    assert set(manifest["tool"]) == {TOOL}
    assert set(manifest["sums"]) == {"tool/SHA256SUMS"}


@pytest.mark.parametrize(
    ("host", "words"),
    [("arm1", ("it is aarch64", "keep stock Pillow")), ("web9", ("does not list web9", "gather its facts"))],
)
def test_a_host_that_nothing_was_built_for_is_told_why(tmp_path: Path, host: str, words: tuple[str, ...]) -> None:
    with pytest.raises(AnsibleActionFail) as refused:
        shipping.manifest_for(_fleet(tmp_path), host)
    assert [each for each in words if each not in str(refused.value)] == []


def test_a_host_whose_wheel_could_not_be_built_is_told_why(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match=r"no Python 3\.13 is here"):
        shipping.manifest_for(_fleet(tmp_path), "web3")


@pytest.mark.parametrize("name", [WHEEL, f"tool/{TOOL}"])
@pytest.mark.parametrize("damage", [b"another content", None], ids=["changed", "gone"])
def test_a_wheelhouse_that_is_not_what_its_sums_say_is_refused(tmp_path: Path, name: str, damage: bytes | None) -> None:
    wheelhouse = _wheelhouse(tmp_path)
    (wheelhouse / name).unlink()
    if damage is not None:
        (wheelhouse / name).write_bytes(damage)
    with pytest.raises(AnsibleActionFail) as refused:
        shipping.manifest_for(wheelhouse, "web1")
    assert name in str(refused.value)
    assert "build it again" in str(refused.value)


@pytest.mark.parametrize("text", ["{", "{}", "[]"])
def test_a_damaged_fleet_file_is_named(tmp_path: Path, text: str) -> None:
    wheelhouse = _fleet(tmp_path)
    (wheelhouse / "fleet.json").write_text(text, encoding="utf-8")
    with pytest.raises(AnsibleActionFail, match=r"fleet\.json: damaged"):
        shipping.manifest_for(wheelhouse, "web1")


def test_a_wheelhouse_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="not a wheelhouse"):
        shipping.manifest_for(tmp_path / "nowhere", "web1")


class CutOff(shipping.ActionModule):  # type: ignore[misc]
    """An action whose connection breaks while it sends the module.

    On the host, `python -c pass` exits with `exit_code`.
    """

    def __init__(self, exit_code: int) -> None:
        self._exit_code = exit_code
        self._discovered_interpreter = "/usr/bin/python3"

    def _execute_module(self, **_module: object) -> dict[str, Any]:
        raise AnsibleConnectionFailure("Data could not be sent to remote host")

    def _low_level_execute_command(self, command: str) -> dict[str, Any]:
        assert command == "/usr/bin/python3 -c pass"
        return {"rc": self._exit_code, "stdout": "", "stderr": "sh: 1: /usr/bin/python3: not found"}


def test_a_host_without_python_is_named_if_its_shell_exits_early() -> None:
    result = CutOff(127)._asked({}, {})
    assert (result["failed"], result["hint"]) == (True, shipping._PYTHON)


def test_a_host_with_python_that_is_cut_off_is_not_reached() -> None:
    with pytest.raises(AnsibleConnectionFailure):
        CutOff(0)._asked({}, {})


def _wheelhouse(directory: Path) -> Path:
    (directory / "tool").mkdir()
    for place, names in ((directory, (WHEEL, OTHER)), (directory / "tool", (TOOL,))):
        for name in names:
            (place / name).write_bytes(name.encode())
        sums = "".join(f"{_digest(name)}  {name}\n" for name in names)
        (place / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return directory


def _fleet(directory: Path) -> Path:
    wheel = {"hosts": ["web1"], "wheel": WHEEL, "sha256": _digest(WHEEL), "problem": "", "hint": ""}
    unmade = {"hosts": ["web3"], "wheel": None, "sha256": "", "problem": "no Python 3.13 is here", "hint": "bring one"}
    left_out = {"host": "arm1", "cause": "architecture", "reason": "it is aarch64", "hint": "keep stock Pillow there"}
    document = {"schema": "fastinstall.fleet/1", "artefacts": [wheel, unmade], "left_out": [left_out]}
    (_wheelhouse(directory) / "fleet.json").write_text(json.dumps(document), encoding="utf-8")
    return directory


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
