"""Recognise commands that change packages: pip, uv, conda, mamba, micromamba, and our own worker. Pure.

The result is used to wait for another installer, and to say why the setup waits. Recognition may be rough: a needless
wait takes a minute, and if an installer is missed, the setup still notices changes to the files that it replaces.
"""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.core.messages import listing
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable

WORKER = "_rattler_worker.py"
"""Our script that changes packages with py-rattler; it receives its request as one argument in JSON."""

CONDA = ("conda", "mamba", "micromamba")
_CONDA_VERBS = frozenset({"install", "remove", "uninstall", "update", "upgrade", "create", "rename"})
_VERBS = {
    "pip": frozenset({"install", "uninstall"}),
    "uv": frozenset({"install", "uninstall", "sync", "add", "remove"}),
    **dict.fromkeys(CONDA, _CONDA_VERBS),
}
_READ_ONLY = frozenset({"--dry-run", "--download-only", "--no-sync", "--check", "--help", "-h"})
_BUILD_ENVIRONMENT = "pip-build-env"
"""Part of the path of an environment that pip creates for a build."""

_CODE = re.compile(r"-[A-Za-z]*c")
_LAUNCHERS = ("__main__.py", "__pip-runner__.py")
_SHOWN = 160


@immutable
class PackageCommand:
    """A command that changes packages.

    Attributes:
        tool: "pip", "uv", "conda" ...
        action: the command for messages, without secrets.
    """

    tool: str
    action: str


@immutable
class ConcurrentInstaller:
    """A program that is changing packages of an environment.

    Attributes:
        process: its process ID.
        tool: "pip", "uv", "conda" ...
        action: the command for messages, without secrets.
    """

    process: int
    tool: str
    action: str


def recognise_command(words: Sequence[str]) -> PackageCommand | None:
    """Return the package command in a command line, or None if it contains no command that changes packages.

    >>> recognise_command(("/venv/bin/python3.12", "-Im", "pip", "install", "pillow")).action
    'pip install pillow'
    """
    for place, word in enumerate(words):
        tool = _name_tool(word)
        if tool == WORKER:
            return PackageCommand(tool=tool, action="py-rattler, for fastinstall")
        if tool in _VERBS:
            arguments = words[place + 1 :]
            if (
                _VERBS[tool].isdisjoint(arguments)
                or not _READ_ONLY.isdisjoint(arguments)
                or _BUILD_ENVIRONMENT in " ".join(arguments)
            ):
                return None
            action = redact_text(shlex.join((tool, *arguments)))
            return PackageCommand(tool=tool, action=action if len(action) <= _SHOWN else f"{action[:_SHOWN]}...")
        if _CODE.fullmatch(word) or not PurePath(words[0]).name.startswith(("python", "pypy")):
            return None  # only Python runs a tool that its arguments name: a script or `-m`
    return None


def names_prefix(words: Sequence[str], prefix: PurePath) -> bool:
    """Return whether a command line contains an environment's prefix.

    The prefix may be a word of its own, the value of an option, or a string in the JSON request of our worker.
    """
    return any(word.rpartition("=")[2] == str(prefix) or json.dumps(str(prefix)) in word for word in words)


def describe_concurrent_installers(installers: tuple[ConcurrentInstaller, ...]) -> str:
    """Describe running installers for a message: "process 42 (pip install pillow) changes packages there"."""
    programs = listing(f"process {installer.process} ({installer.action})" for installer in installers)
    return f"{programs} {'changes' if len(installers) == 1 else 'change'} packages there"


def _name_tool(word: str) -> str:
    path = PurePath(word)
    name = path.parent.name if path.name in _LAUNCHERS else path.name
    return re.sub(r"^pip[0-9.]+$", "pip", name.removesuffix(".pyz"))
