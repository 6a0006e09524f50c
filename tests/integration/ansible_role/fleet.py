"""The wheelhouse for the hosts of a test, built from their facts files as on a controller."""

import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.environments.interpreters import running
from support.sandbox import STOCK, Sandbox

ENVIRONMENT = "/media/env"
"""The environment that is set up, on each machine."""

OPTIONS = {"fastinstall_recipe": "pillow", "fastinstall_level": "x86-64-v2"}
"""The options of `STOCK`, as variables of the role."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The controller's files.

    Attributes:
        program: a copy of fastinstall, made before the build, so that later edits of the checkout do not matter.
        facts: the directory with a facts file for each host.
        wheelhouse: the directory of the hosts' wheels.
        document: the JSON document that the build printed.
    """

    program: Path
    facts: Path
    wheelhouse: Path
    document: Mapping[str, Any]

    @property
    def variables(self) -> dict[str, Any]:
        """Return variables for plays that install from the wheelhouse."""
        return {
            **OPTIONS,
            "fastinstall_prefix": ENVIRONMENT,
            "fastinstall_command": ["env", f"PYTHONPATH={self.program}", sys.executable, "-m", "fastinstall"],
            "fastinstall_wheelhouse": str(self.wheelhouse),
            "fastinstall_build": False,
        }


_CHECKOUT = Path(__file__).resolve().parents[3]

Changes = Mapping[str, Mapping[str, object]]
"""Entries in which the facts of a host differ, by host."""


def build_fleet(sandbox: Sandbox, hosts: Iterable[str], changes: Changes | None = None) -> Fleet:
    """Write a facts file for each host, copied from this machine's facts, and build wheels for the hosts.

    Args:
        sandbox: the sandbox that contains all files.
        hosts: names of hosts.
        changes: for each host, the entries of its facts that differ from this machine's.
    """
    facts, wheelhouse = sandbox.root / "facts", sandbox.root / "wheelhouse"
    facts.mkdir()
    program = _program(sandbox.root / "program")
    observed = sandbox.cli("inspect", "--json", "--python", running().executable)
    assert observed.exit_code == 0, observed.text
    for host in hosts:
        document = _merged(observed.document, (changes or {}).get(host, {}))
        (facts / f"{host}.json").write_text(json.dumps({"host": host, **document}), encoding="utf-8")
    built = sandbox.cli(
        "build", "--hosts", facts, "-o", wheelhouse, "--with-tool", "--json", *STOCK, env={"PYTHONPATH": str(program)}
    )
    assert built.exit_code == 0, built.text
    return Fleet(program=program, facts=facts, wheelhouse=wheelhouse, document=built.document)


def _program(directory: Path) -> Path:
    """Copy the checkout, so that edits during the test do not change the tool wheel; return the copy."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("fastinstall", "recipes", "hooks"):
        shutil.copytree(_CHECKOUT / name, directory / name, ignore=ignored)
    for name in (
        *("pyproject.toml", "README.md", "LICENSE"),
        *("docs/reference/fastinstall.1", "requirements/with-tool.txt"),
    ):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_CHECKOUT / name, directory / name)
    return directory


def _merged(document: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    both = {name: value for name, value in changes.items() if isinstance(value, dict)}
    return {**changes, **document, **{name: {**document[name], **value} for name, value in both.items()}}
