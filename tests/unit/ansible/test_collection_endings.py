"""How the collection's modules end. A stand-in replaces AnsibleModule, whose exit methods would end the process."""

from pathlib import Path
from typing import Any, NoReturn

import pytest
from support.ansible.collection_parts import part

running = part("running")
ToolError = part("errors").ToolError


class EndedError(Exception):
    """Raised where Ansible would print a result and exit."""


class Module:
    """A stand-in for AnsibleModule: takes the module's parameters, and keeps its result."""

    def __init__(self, *, check_mode: bool = False, **params: Any) -> None:
        self.check_mode, self.result = check_mode, dict[str, Any]()
        self.params = {"wheelhouse": None, "executable": None, **params}

    def exit_json(self, **result: Any) -> NoReturn:
        self.result = result
        raise EndedError

    def fail_json(self, **result: Any) -> NoReturn:
        self.exit_json(failed=True, **result)


def concluded(module: Module, result: dict[str, Any] | Exception) -> dict[str, Any]:
    def work() -> dict[str, Any]:
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(EndedError):
        running.conclude(module, work)
    return module.result


@pytest.mark.parametrize(("exit_code", "changed"), [(5, False), (6, False), (7, True)])
def test_only_what_could_not_be_undone_has_changed_something(exit_code: int, *, changed: bool) -> None:
    ended = concluded(Module(), ToolError("message", "hint", exit_code, ["more"]))
    told = {"msg": "message", "hint": "hint", "exit_code": exit_code, "details": ["more"]}
    assert ended == {**told, "changed": changed, "failed": True}


def test_check_mode_is_skipped_if_the_wheelhouse_is_yet_to_come(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert concluded(Module(check_mode=True, wheelhouse=missing), {"changed": True})["skipped"] is True
    for module in (
        Module(wheelhouse=missing),
        Module(check_mode=True, wheelhouse=str(tmp_path)),
        Module(check_mode=True, wheelhouse=missing, executable="fastinstall"),
    ):
        assert concluded(module, {"changed": True}) == {"changed": True}


def test_a_report_of_findings_fails_and_is_returned() -> None:
    ended = concluded(Module(), {"failed": True, "report": {"status": "error"}, "msg": "ill"})
    assert (ended["failed"], ended["report"]) == (True, {"status": "error"})
