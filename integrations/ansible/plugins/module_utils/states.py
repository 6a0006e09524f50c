"""The three states of an environment: what is asked of fastinstall for each, and what its answers come to.

There is no Ansible in it; a result is what a module returns: `changed`, and the documents of fastinstall as they are.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FAILED, REFUSED, ToolError
from .tool import run_tool
from .wishes import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tool import Run

    Result = dict[str, Any]

_OURS = "share/fastinstall"
_TOLD = (
    f"{_OURS}/receipt.json",
    f"{_OURS}/project",
    f"{_OURS}/tx/*/journal.jsonl",
    f"{_OURS}/kept/*",
    ".fastinstall-*",
)
_FINDINGS = 3


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        tool: the words that run fastinstall.
        run: runs a command to its end: its words to its exit code, stdout and stderr.
        parameters: of the module.
        changing: whether anything may be changed; else it is only told what would be.
        comparing: whether the difference is to be told, too.
    """

    tool: list[str]
    run: Run
    parameters: Mapping[str, Any]
    changing: bool = True
    comparing: bool = False


def present(request: Request) -> Result:
    """The stack as it is wished for: planned, built or taken from the wheelhouse, proven and swapped in.

    Raises:
        ToolError: as fastinstall says.
    """
    words = [*_target(request, creating=True), *words_of(request.parameters)]
    result: Result = {}
    if request.comparing or not request.changing:
        plan = run_tool(request.tool, ["plan", *words], request.run).document
        _refuse_unaccepted(plan)
        result = {"plan": plan, "changed": bool(plan["steps"]), "msg": plan["summary"], "diff": _difference(plan)}
    if not request.changing:
        return result
    before = _standing(request)
    receipt = run_tool(request.tool, ["setup", "--yes", *words], request.run).document
    message = f"{receipt['distribution']} {receipt['version']} is in place in {receipt['environment']['prefix']}"
    done: Result = {**result, "receipt": receipt, "changed": _standing(request) != before, "msg": message}
    return _examined(request, done) if request.parameters["examine"] else done


def absent(request: Request) -> Result:
    """The environment as it was before the first setup that can be undone.

    Raises:
        ToolError: as fastinstall says.
    """
    prefix = _prefix(request)
    if not prefix.is_dir():
        return {"changed": False, "msg": f"{prefix} is not there"}
    target = _target(request, creating=False)
    listed = run_tool(request.tool, ["rollback", "--list", *target], request.run).document["transactions"]
    if not listed:
        return {"changed": False, "msg": f"nothing is set up in {prefix}"}
    leaving = "".join(f"{each['id']} {each['verb']} {each['stack']}\n" for each in listed)
    result: Result = {"changed": True, "diff": _compared(prefix, leaving, "")}
    if not request.changing:
        return {**result, "msg": f"{prefix} would be as it was before {listed[-1]['id']}"}
    oldest = [each["id"] for each in listed if each["state"] == "committed"][-1:]
    words = ["rollback", "--yes", *target, *(["--to", *oldest] if oldest else []), *_allowed(request)]
    undone = run_tool(request.tool, words, request.run).document
    return {**result, "rollback": undone, "msg": "; ".join(undone["done"])}


def checked(request: Request) -> Result:
    """The report of doctor; nothing is changed.

    Raises:
        ToolError: as fastinstall says.
    """
    parameters = request.parameters
    flags = ["--quick"] if parameters["quick"] else []
    words = ["doctor", *parameters["checks"], *_target(request, creating=False), *flags]
    answer = run_tool(request.tool, [*words, "--fail-on", parameters["fail_on"]], request.run, (0, _FINDINGS))
    report = answer.document
    failed = answer.exit_code == _FINDINGS
    return {"changed": False, "report": report, "failed": failed, "exit_code": answer.exit_code, "msg": _told(report)}


def _examined(request: Request, done: Result) -> Result:
    """What was done, with the report of doctor on it; where that is grave the task fails, and tells both."""
    found = checked(request)
    message = found["msg"] if found["failed"] else done["msg"]
    return {**done, **found, "changed": done["changed"], "msg": message}


def observed(request: Request) -> Result:
    """The facts, and the file that they are to be kept in.

    Raises:
        ToolError: as fastinstall says, or the file cannot be written.
    """
    parameters = request.parameters
    given = (("--prefix", parameters["prefix"]), ("--python", parameters["python"]))
    words = ["inspect", *(word for flag, value in given if value for word in (flag, value))]
    facts = run_tool(request.tool, [*words, *(["--redact"] if parameters["redact"] else [])], request.run).document
    result: Result = {"changed": False, "ansible_facts": {"fastinstall": facts}}
    if not parameters["dest"]:
        return result
    return {**result, "dest": parameters["dest"], "changed": _keep(facts, Path(parameters["dest"]), request)}


def _keep(facts: Mapping[str, Any], file: Path, request: Request) -> bool:
    """Write a file unless it says the same; whether it did not."""
    text = json.dumps(facts, indent=2) + "\n"
    try:
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            return False
        if request.changing:
            beside = file.with_name(f".{file.name}.{os.getpid()}")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, file)
    except OSError as error:
        raise ToolError(f"dest: {file}: {error.strerror}", "name another file", FAILED) from None
    return True


def _target(request: Request, *, creating: bool) -> list[str]:
    """The flags that name the environment; one that was made already is no other than any."""
    named = request.parameters
    if named["new_env"] and (not creating or os.path.lexists(named["new_env"])):
        return ["--prefix", named["new_env"]]
    given = (("--prefix", named["prefix"]), ("--new-env", named["new_env"]), ("--python", named["python"]))
    return [word for flag, value in given if value for word in (flag, value)]


def _prefix(request: Request) -> Path:
    named = request.parameters
    directory = named["prefix"] or named["new_env"]
    return Path(directory) if directory else Path(named["python"]).parent.parent


def _allowed(request: Request) -> list[str]:
    risks = request.parameters["allow"]
    return ["--allow", ",".join(risks)] if risks else []


def _standing(request: Request) -> dict[str, tuple[int, int]]:
    """Receipt and journals of an environment, by size and time: they tell of every change that fastinstall makes."""
    seen = {str(file): file.lstat() for pattern in _TOLD for file in _prefix(request).glob(pattern)}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in seen.items()}


def _refuse_unaccepted(plan: Mapping[str, Any]) -> None:
    """What setup refuses, a look at what it would do refuses too."""
    hazards = [each for each in plan["hazards"] if not each["allowed"]]
    if hazards:
        risks = ", ".join([*plan["wish"]["allow"], *(each["risk"] for each in hazards)])
        items = [item for each in hazards for item in each["items"]]
        message = "; ".join(each["summary"] for each in hazards)
        raise ToolError(message, f"accept it by name: allow: [{risks}]", REFUSED, items)


def _difference(plan: Mapping[str, Any]) -> dict[str, str]:
    """What goes, against every step with its reason."""
    steps = plan["steps"]
    leaving = [name for step in steps if step["kind"] == "swap" for name in (*step["removes"], *step["records"])]
    coming = [plan["summary"], *(f"{step['kind']}: {step['reason']}" for step in steps)] if steps else []
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (leaving, coming))
    return _compared(plan["environment"]["prefix"], before, after)


def _compared(prefix: object, before: str, after: str) -> dict[str, str]:
    return {"before": before, "after": after, "before_header": str(prefix), "after_header": str(prefix)}


def _told(report: Mapping[str, Any]) -> str:
    """The status, and the findings that bear it."""
    grave = [each for each in report["findings"] if each["status"] in ("error", "warning")]
    sentences = [f"{each['check']}: {each['message']}" for each in grave]
    return "; ".join([f"{report['environment']['prefix']}: {report['status']}", *sentences])
