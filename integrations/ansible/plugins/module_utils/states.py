"""Bring an environment into a state (present, absent, checked, observed) by running fastinstall.

This module does not need Ansible. The results have the keys of Ansible modules, such as `changed`, and fastinstall's
JSON documents.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FAILED, REFUSED, ToolError
from .request_options import words_of
from .tool import run_tool

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
    """A request to a module.

    Attributes:
        tool: the command that runs fastinstall, as a list of words.
        run: runs a command, and returns its exit code, stdout and stderr.
        parameters: the parameters of the module.
        changing: whether the module may change anything (false in check mode).
        comparing: whether the result must contain a diff.
    """

    tool: list[str]
    run: Run
    parameters: Mapping[str, Any]
    changing: bool = True
    comparing: bool = False


def present(request: Request) -> Result:
    """Set up the stack; in check mode, only plan it.

    Raises:
        ToolError: fastinstall reported an error.
    """
    words = [*_target(request, creating=True), *words_of(request.parameters)]
    result: Result = {}
    if request.comparing or not request.changing:
        plan = run_tool(request.tool, ["plan", *words], request.run).document
        _refuse_unaccepted(plan)
        result = {
            "plan": plan,
            "changed": plan["verify"] is not None,
            "msg": plan["summary"],
            "diff": _difference(plan),
        }
    if not request.changing:
        return result
    before = _standing(request)
    receipt = run_tool(request.tool, ["setup", "--yes", *words], request.run).document
    message = f"{receipt['distribution']} {receipt['version']} is installed in {receipt['environment']['prefix']}"
    done: Result = {**result, "receipt": receipt, "changed": _standing(request) != before, "msg": message}
    return _examined(request, done) if request.parameters["examine"] else done


def absent(request: Request) -> Result:
    """Roll back to the state before the earliest setup that can be undone.

    Raises:
        ToolError: fastinstall reported an error.
    """
    prefix = _prefix(request)
    if not prefix.is_dir():
        return {"changed": False, "msg": f"{prefix} does not exist"}
    target = _target(request, creating=False)
    listed = run_tool(request.tool, ["rollback", "--list", *target], request.run).document["transactions"]
    if not listed:
        return {"changed": False, "msg": f"nothing is set up in {prefix}"}
    leaving = "".join(f"{each['id']} {each['verb']} {each['stack']}\n" for each in listed)
    result: Result = {"changed": True, "diff": _compared(prefix, leaving, "")}
    if not request.changing:
        return {**result, "msg": f"{prefix} would be rolled back to before {listed[-1]['id']}"}
    oldest = [each["id"] for each in listed if each["state"] == "committed"][-1:]
    words = ["rollback", "--yes", *target, *(["--to", *oldest] if oldest else []), *_allowed(request)]
    undone = run_tool(request.tool, words, request.run).document
    return {**result, "rollback": undone, "msg": "; ".join(undone["done"])}


def checked(request: Request) -> Result:
    """Run doctor, which changes nothing, and return its report.

    Raises:
        ToolError: fastinstall reported an error.
    """
    parameters = request.parameters
    flags = ["--quick"] if parameters["quick"] else []
    words = ["doctor", *parameters["checks"], *_target(request, creating=False), *flags]
    answer = run_tool(request.tool, [*words, "--fail-on", parameters["fail_on"]], request.run, (0, _FINDINGS))
    report = answer.document
    failed = answer.exit_code == _FINDINGS
    return {"changed": False, "report": report, "failed": failed, "exit_code": answer.exit_code, "msg": _told(report)}


def _examined(request: Request, done: Result) -> Result:
    """Run doctor after a setup, and add its report to the setup's result; grave findings make the result a failure."""
    found = checked(request)
    message = found["msg"] if found["failed"] else done["msg"]
    return {**done, **found, "changed": done["changed"], "msg": message}


def observed(request: Request) -> Result:
    """Return the facts of an environment; if the parameter `dest` is set, also write them to that file.

    Raises:
        ToolError: fastinstall reported an error, or the file cannot be written.
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
    """Write the facts to a file if its content differs, except in check mode; return whether it differed."""
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
    """Return the flags that name the environment; for an existing directory, `new_env` is passed as --prefix."""
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
    """Return size and time of fastinstall's files in an environment; they change if fastinstall changes it."""
    seen = {str(file): file.lstat() for pattern in _TOLD for file in _prefix(request).glob(pattern)}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in seen.items()}


def _refuse_unaccepted(plan: Mapping[str, Any]) -> None:
    """Raise ToolError if a plan has risks that the user has not allowed: `setup` would refuse it, too."""
    unaccepted = [each for each in plan["risks"] if not each["allowed"]]
    if unaccepted:
        risks = ", ".join([*plan["request"]["allow"], *(each["risk"] for each in unaccepted)])
        items = [item for each in unaccepted for item in each["items"]]
        message = "; ".join(each["summary"] for each in unaccepted)
        raise ToolError(message, f"accept the risk: allow: [{risks}]", REFUSED, items)


def _difference(plan: Mapping[str, Any]) -> dict[str, str]:
    """Return a plan as a diff: "before" lists the entries to remove; "after" lists the steps, each with its reason."""
    listed = ((name, each if isinstance(each, list) else [each]) for name, each in plan.items() if name != "skipped")
    steps = [(name, step) for name, each in listed for step in each if isinstance(step, dict) and "reason" in step]
    leaving = [*plan["swap"]["removes"], *plan["swap"]["records"]] if plan["swap"] is not None else []
    coming = [plan["summary"], *(f"{name}: {step['reason']}" for name, step in steps)] if steps else []
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (leaving, coming))
    return _compared(plan["environment"]["prefix"], before, after)


def _compared(prefix: object, before: str, after: str) -> dict[str, str]:
    return {"before": before, "after": after, "before_header": str(prefix), "after_header": str(prefix)}


def _told(report: Mapping[str, Any]) -> str:
    """Return a line with the status of doctor's report, and the errors and warnings in it."""
    grave = [each for each in report["findings"] if each["status"] in ("error", "warning")]
    sentences = [f"{each['check']}: {each['message']}" for each in grave]
    return "; ".join([f"{report['environment']['prefix']}: {report['status']}", *sentences])
