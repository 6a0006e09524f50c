"""`conda-meta/history`: what conda's solvers take as the user's requests.

conda (24.7 to 26.7) and libmamba read from it which match specs the user asked for; the records' `requested_spec` is
for listings. Source: conda's `History`.
"""

import ast
import re
from collections.abc import Iterable
from datetime import datetime

from fastinstall.model.conda import CondaChange, CondaPackage

_MARK = "simd_"
_GUARD = "fastinstall-guard"
_SPECS = re.compile(r"^#\s*(?P<action>\w+)\s+specs:\s*(?P<specs>\[.*\])\s*$")


def requested_spec(package: CondaPackage) -> str:
    """The match spec under which one of our packages is recorded as the user's request; empty for others'.

    That of the stack names no version, so that a later one of ours can come, and no other build.
    """
    if package.build.startswith(_MARK):
        return f"{package.name}[build={_MARK}*]"
    return package.name if package.name == _GUARD else ""


def history_revision(existing: str, at: datetime, command: str, change: CondaChange) -> str:
    """The history with one revision more, as conda writes it.

    Args:
        existing: the text so far.
        at: local time.
        command: the command line that caused it.
        change: what came and what went.
    """
    before = _state(existing)
    gone = [f"-{before.get(package.dist) or _line(package)}" for package in change.unlinked]
    come = [f"+{_line(package)}" for package in change.linked]
    specs = [spec for spec in map(requested_spec, change.linked) if spec]
    heading = [f"==> {at:%Y-%m-%d %H:%M:%S} <==", f"# cmd: {command}"]
    coming = {package.name for package in change.linked}
    dropped = [package.name for package in change.unlinked if package.name not in coming]
    requests = [f"# {action} specs: {names!r}" for action, names in (("remove", dropped), ("update", specs)) if names]
    revision = [*heading, *sorted(gone), *sorted(come), *requests]
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return kept + "".join(f"{line}\n" for line in revision)


def without_requests(before: str, after: str, installed_again: Iterable[str]) -> str:
    """The history after an engine's work, less what explicit installations add to the user's requests.

    They would pin each package to its very build, and forget what the user had asked for.

    Args:
        before: the text before.
        after: the text now.
        installed_again: names of packages that came.
    """
    if not after.startswith(before):
        return after
    names = frozenset(installed_again)
    added = (_without(line, names) for line in after[len(before) :].splitlines(keepends=True))
    return before + "".join(added)


def spec_name(spec: str) -> str:
    """The name in a match spec: "pillow" of "conda-forge::pillow>=12"."""
    return re.split(r"[\s=<>!~\[]", spec.rpartition("::")[2], maxsplit=1)[0]


def _without(line: str, names: frozenset[str]) -> str:
    match = _SPECS.match(line)
    if not match:
        return line
    if match["action"] not in ("remove", "uninstall"):
        return ""
    left = [spec for spec in _literal(match["specs"]) if spec_name(spec) not in names]
    return f"# {match['action']} specs: {left!r}\n" if left else ""


def _state(history: str) -> dict[str, str]:
    """What is installed by the history: "NAME-VERSION-BUILD" to the line's text."""
    found: dict[str, str] = {}
    for line in history.splitlines():
        text = line[1:].strip()
        if line.startswith("+"):
            found[text.rpartition("::")[2]] = text
        elif line.startswith("-"):
            found.pop(text.rpartition("::")[2], None)
    return found


def _line(package: CondaPackage) -> str:
    channel = package.channel.rstrip("/")
    if channel and package.subdir and not channel.endswith(f"/{package.subdir}"):
        channel = f"{channel}/{package.subdir}"
    return f"{channel}::{package.dist}" if channel else package.dist


def _literal(text: str) -> list[str]:
    try:
        return [str(item) for item in ast.literal_eval(text)]
    except (ValueError, SyntaxError):
        return []
