"""Playbooks run on machines made of namespaces, and their results on each host."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from integration.ansible_role.machines import Network
from support.ansible.needs import require_ansible

COLLECTION = Path(__file__).resolve().parents[3] / "integrations" / "ansible"
CALLBACKS = Path(__file__).resolve().parents[2] / "support" / "ansible" / "callbacks"
_PROGRAM = Path(sys.executable).with_name("ansible-playbook")


@dataclass(frozen=True)
class Outcome:
    """The result of a task on a host.

    Attributes:
        host: the host's name.
        task: the task's name.
        status: "ok", "changed", "failed", "unreachable" or "skipped".
        result: the module's result.
    """

    host: str
    task: str
    status: str
    result: Mapping[str, Any]

    @property
    def told(self) -> str:
        """Return the message and the hint that a person reads."""
        return "\n".join(str(self.result[key]) for key in ("msg", "hint") if self.result.get(key))


@dataclass(frozen=True)
class Played:
    """A finished playbook run.

    Attributes:
        exit_code: exit code of ansible-playbook.
        text: its output.
        outcomes: results of all tasks on all hosts, in order.
    """

    exit_code: int
    text: str
    outcomes: tuple[Outcome, ...]

    def of(self, host: str) -> list[Outcome]:
        """List the results on a host."""
        return [outcome for outcome in self.outcomes if outcome.host == host]

    def statuses(self, task: str) -> dict[str, str]:
        """Return the status of one task, by host."""
        return {outcome.host: outcome.status for outcome in self.outcomes if task in outcome.task}

    @cached_property
    def failures(self) -> dict[str, Outcome]:
        """Return the task that failed, by host."""
        return {each.host: each for each in self.outcomes if each.status in {"failed", "unreachable"}}

    @cached_property
    def changed(self) -> set[str]:
        """Return the hosts on which anything was changed."""
        return {outcome.host for outcome in self.outcomes if outcome.status == "changed"}


@dataclass(frozen=True, kw_only=True)
class Controller:
    """The controller, which runs playbooks of the collection on the hosts.

    Attributes:
        network: the hosts.
        variables: variables for every play.
        program: `ansible-playbook`.
    """

    network: Network
    variables: Mapping[str, Any]
    program: Path = _PROGRAM

    def play(self, playbook: str, *words: str, **variables: Any) -> Played:
        """Run a playbook.

        Args:
            playbook: "fastinstall.stack.site", or the YAML text of a playbook.
            words: flags of ansible-playbook.
            variables: variables of this run.
        """
        require_ansible(self.program)
        directory = self.network.directory
        record = directory / "record.jsonl"
        record.unlink(missing_ok=True)
        given = directory / "variables.json"
        given.write_text(json.dumps({**self.variables, **variables}), encoding="utf-8")
        if "\n" in playbook:
            (directory / "play.yml").write_text(playbook, encoding="utf-8")
            playbook = str(directory / "play.yml")
        flags = ("-i", str(self.network.inventory), "-e", f"@{given}", *words)
        done = self.network.run(self.program, *flags, playbook, env=self._settings(record))
        lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        return Played(done.exit_code, done.text, tuple(Outcome(**json.loads(line)) for line in lines))

    def _settings(self, record: Path) -> dict[str, str]:
        directory = self.network.directory
        link = directory / "collections" / "ansible_collections" / "fastinstall" / "stack"
        if not link.exists():
            link.parent.mkdir(parents=True)
            link.symlink_to(COLLECTION)
        return {
            "ANSIBLE_COLLECTIONS_PATH": str(directory / "collections"),
            "ANSIBLE_HOME": str(directory / "ansible"),
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_FORKS": "12",
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "recorded",
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "FASTINSTALL_TEST_RECORD": str(record),
        }
