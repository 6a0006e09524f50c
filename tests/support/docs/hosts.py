"""Hosts for a reader of the documentation, who has the package index and them: machines made of namespaces.

The machines know no way out, and a process that is connected with them has none either; so only ssh is among them.
"""

import json
from contextlib import ExitStack
from pathlib import Path

from support.ansible.machines import Machine, Network, network
from support.sandbox import Sandbox

NAMES = ("web1", "web2", "web3")

_AMONG_THEM = '#!/bin/sh\nexec nsenter --target={process} --net --mount --pid --uts {ssh} "$@"\n'
_CONNECTION = {
    "ansible_ssh_transfer_method": "piped",  # sftp would start an ssh of its own
    "ansible_control_path": "/run/%%C",  # which is theirs, and short enough for a socket
}


def hosts(sandbox: Sandbox, work: Path, until: ExitStack) -> str:
    """Switch them on, and write `inventory.yml`.

    Args:
        sandbox: where their files lie.
        work: the directory for the inventory.
        until: whose end is theirs.

    Returns:
        A line for the shell: `disk web1` prints the directory that is /media there.
    """
    running = until.enter_context(network([Machine(name=name) for name in NAMES], sandbox))
    inventory = json.loads(running.inventory.read_text(encoding="utf-8"))
    common = inventory["all"]["vars"]
    common |= {**_CONNECTION, "ansible_ssh_executable": str(_ssh(running, common["ansible_ssh_executable"]))}
    (work / "inventory.yml").write_text(json.dumps(inventory, indent=2), encoding="utf-8")
    disks = running.disk(NAMES[0]).parent
    return f"disk() {{ echo {disks}/$1; }}"


def _ssh(running: Network, program: str) -> Path:
    script = running.directory / "ssh-among-them"
    script.write_text(_AMONG_THEM.format(process=running.process, ssh=program), encoding="utf-8")
    script.chmod(0o755)
    return script
