"""Provides the things that a scenario lists under `brings`: what a page's commands need besides environments.

A thing is created when a command first needs it. It may come with shell code that makes it known to the page's shell.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from integration.ansible_role.machines import Machine, network
from support.docs.pages import ROOT
from support.projects.tools import made_project_tools, programs
from support.sandbox import Sandbox, run

from fastinstall.fleet.tool_wheels import make_tool_wheel
from reader import conda as docs_conda

_PROGRAMS = {"pipx": ("pipx==1.18.4",), "pre-commit": ("pre-commit==4.7.0",)}
_NOT_OF_THE_REPOSITORY = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "node_modules")


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The place where a page's commands run.

    Attributes:
        sandbox: the sandbox that contains all files.
        work: the initial working directory.
        until_read: closes things, such as machines, that run until the end of the page.
        brought: names of things that were provided already.
    """

    sandbox: Sandbox
    work: Path
    until_read: ExitStack
    brought: set[str] = field(default_factory=set)

    def bring(self, name: str) -> str:
        """Provide a thing, and return shell code that makes it known to the shell; empty if none is needed."""
        if name in self.brought:
            return ""
        self.brought.add(name)
        return BRINGERS[name](self)


def _wheel(desk: Desk) -> str:
    """Build fastinstall's wheel from the checkout, and let pip and uv find it, because no index offers fastinstall."""
    variables = desk.sandbox.variables({"PIP_FIND_LINKS": os.environ.get("PIP_FIND_LINKS")})
    place = make_tool_wheel(desk.sandbox.cache, variables).parent
    return f"export PIP_FIND_LINKS='{place}' UV_FIND_LINKS='{place}'"


def _development_tools(_: Desk) -> str:
    """Provide a `python` with the project's dependency groups: the interpreter that runs the tests."""
    return f"PATH='{Path(sys.executable).parent}':$PATH"


def _poetry(desk: Desk) -> str:
    return f"PATH='{made_project_tools(desk.sandbox).bin}':$PATH"


def _program(name: str, desk: Desk) -> str:
    return f"PATH='{programs(name, _PROGRAMS[name], desk.sandbox)}':$PATH"


def _of_conda(name: str, desk: Desk) -> str:
    return docs_conda.BRINGERS[name](desk.sandbox)


def _repository(desk: Desk) -> str:
    """Provide the checkout as the repository /srv/fastinstall.git, and git settings of a maintainer with an ssh key."""
    tree, home = desk.sandbox.root / "tree", desk.sandbox.root / "home"
    shutil.copytree(ROOT, tree, ignore=_NOT_OF_THE_REPOSITORY, symlinks=True)
    key = home / ".ssh" / "id_ed25519"
    key.parent.mkdir()
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key),
        *(("git", "config", "--global", *setting) for setting in _settings(key)),
        ("git", "init", "--quiet", "--initial-branch=main"),
        ("git", "add", "--all"),
        ("git", "commit", "--quiet", "--message=All"),
        ("git", "clone", "--quiet", "--bare", tree, desk.sandbox.root / "srv" / "fastinstall.git"),
    )
    for argv in commands:
        done = run(argv, desk.sandbox.variables(), directory=tree)
        assert done.exit_code == 0, done.text
    signers = key.with_name("allowed_signers")
    signers.write_text(f"maintainer@example.org {key.with_suffix('.pub').read_text()}", encoding="utf-8")
    return ""


def _settings(key: Path) -> tuple[tuple[str, str], ...]:
    return (
        ("user.name", "A maintainer"),
        ("user.email", "maintainer@example.org"),
        ("gpg.format", "ssh"),
        ("gpg.ssh.allowedSignersFile", str(key.with_name("allowed_signers"))),
        ("user.signingkey", f"{key}.pub"),
    )


def _hosts(desk: Desk) -> str:
    """Provide three machines and their inventory; the shell command `disk web1` prints the path of web1's disk."""
    running = desk.until_read.enter_context(network([Machine(name=f"web{n}") for n in (1, 2, 3)], desk.sandbox))
    shutil.copyfile(running.inventory, desk.work / "inventory.yml")
    return f"disk() {{ echo {running.disk('web1').parent}/$1; }}"


BRINGERS: Mapping[str, Callable[[Desk], str]] = {
    "wheel": _wheel,
    "development-tools": _development_tools,
    "poetry": _poetry,
    "repository": _repository,
    "hosts": _hosts,
    **{name: partial(_program, name) for name in _PROGRAMS},
    **{name: partial(_of_conda, name) for name in docs_conda.BRINGERS},
}
"""Functions that provide things, by name."""
