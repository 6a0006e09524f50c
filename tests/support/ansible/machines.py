"""Machines for Ansible: each a network, mounts, a disk, a home and an sshd of its own, all of them gone with the test.

What is real: ssh through a (virtual) cable, separate file systems with a size, processes of a separate sshd. What is
not: the kernel and /usr are shared, and they see the processes of each other. Only root can make them.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.ansible.inside import DISKS
from support.ansible.openssh import OpenSsh, open_ssh
from support.machine.needs import require_system
from support.sandbox import Result, Sandbox, run

_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child=KILL")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a machine is to be like.

    Attributes:
        name: in the inventory, and its hostname.
        megabytes: the size of its disk.
        environment_megabytes: of the disk that its environment has for itself; None for the same one.
        sshd: whether anybody listens.
        has_python: whether one is on PATH.
        python: the interpreter of its environment, and of Ansible's modules unless the inventory says otherwise.
        variables: what a login finds in its environment.
        covered: files that lie over others: the one seen, by its path.
        wrapper: words before sshd, `setarch` for one.
        inventory: variables in the inventory.
        user: the name of an ordinary user, who may become root by sudo; Ansible logs in as them. Empty for root.
        group: of the inventory.
    """

    name: str
    megabytes: int = 250
    environment_megabytes: int | None = None
    sshd: bool = True
    has_python: bool = True
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)
    covered: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    inventory: Mapping[str, object] = field(default_factory=dict)
    user: str = ""
    group: str = "fleet"


@dataclass(frozen=True, kw_only=True)
class Network:
    """Machines that run.

    Attributes:
        process: the number of the process that keeps them.
        directory: of the controller: keys and inventory.
        sandbox: where the controller works.
    """

    process: int
    directory: Path
    sandbox: Sandbox

    @property
    def inventory(self) -> Path:
        """For `ansible-playbook -i`."""
        return self.directory / "inventory.json"

    def disk(self, name: str) -> Path:
        """A machine's disk, seen from here."""
        return Path(f"/proc/{self.process}/root{DISKS}/{name}")

    def run(self, *argv: str | Path, env: Mapping[str, str | None] | None = None) -> Result:
        """Run a command of the controller's, who alone is connected with the machines."""
        return run((*self._inside, *argv), self.sandbox.variables(env), directory=self.directory)

    @property
    def _inside(self) -> tuple[str, ...]:
        return ("nsenter", f"--target={self.process}", "--net", "--mount", "--pid", "--uts")


@contextmanager
def network(machines: Sequence[Machine], sandbox: Sandbox) -> Iterator[Network]:
    """Switch machines on; the test is skipped where that is forbidden.

    The first process of theirs dies with us (prctl(2), PR_SET_PDEATHSIG), and all others with it (pid_namespaces(7)).
    """
    _require_namespaces()
    require_system(not any(each.user for each in machines) or bool(shutil.which("sudo")), "sudo")
    ssh = open_ssh(sandbox.cache)
    directory = sandbox.root / "controller"
    directory.mkdir()
    specification = _specify(machines, ssh, directory)
    program = Path(__file__).with_name("inside.py")
    argv = ("setpriv", "--pdeathsig", "KILL", *_NAMESPACES, sys.executable, program, specification)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as kept:
        try:
            said = kept.stdout.readline() if kept.stdout is not None else ""
            assert said.strip().isdigit(), "the machines do not start"
            yield Network(process=int(said), directory=directory, sandbox=sandbox)
        finally:
            kept.kill()


def _require_namespaces() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make machines out of namespaces with an sshd in each (privilege separation)")
    tried = subprocess.run((*_NAMESPACES, "true"), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine forbids namespaces: {tried.stderr.strip()}")


def _specify(machines: Sequence[Machine], ssh: OpenSsh, directory: Path) -> Path:
    """Write down what the machines are, and an inventory for Ansible; the path of the first."""
    key = _make_key(directory / "client_key", ssh)
    keys = [_make_key(directory / f"host_key_{machine.name}", ssh) for machine in machines]
    specified = [_specified(machine, number, keys[number]) for number, machine in enumerate(machines)]
    document = {
        "ip": str(ssh.program("ip")),
        "sshd": str(ssh.program("sshd")),
        "variables": ssh.variables,
        "server_options": ssh.server_options,
        "authorized_keys": f"{key}.pub",
        "machines": specified,
    }
    path = directory / "machines.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    _write_inventory(specified, ssh, directory)
    return path


def _specified(machine: Machine, number: int, host_key: Path) -> dict[str, object]:
    gateway, address = (f"10.77.{number}.{end}" for end in (1, 2))
    return {**asdict(machine), "address": address, "gateway": gateway, "host_key": str(host_key)}


def _make_key(path: Path, ssh: OpenSsh) -> Path:
    argv = (ssh.program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", path)
    subprocess.run(argv, env={**os.environ, **ssh.variables}, check=True, stdin=subprocess.DEVNULL)
    return path


def _write_inventory(specified: Sequence[Mapping[str, Any]], ssh: OpenSsh, directory: Path) -> None:
    """Hosts with their addresses, and the host keys that ssh is to find there."""
    public = {each["host_key"]: Path(f"{each['host_key']}.pub").read_text(encoding="utf-8") for each in specified}
    known = "".join(f"{each['address']} {public[each['host_key']]}" for each in specified)
    (directory / "known_hosts").write_text(known, encoding="utf-8")
    groups: dict[str, dict[str, dict[str, object]]] = {each["group"]: {"hosts": {}} for each in specified}
    for each in specified:
        groups[each["group"]]["hosts"][each["name"]] = _host_variables(each)
    common = {
        "ansible_user": "root",
        "ansible_ssh_executable": str(_wrapped(ssh, directory)),
        "ansible_ssh_private_key_file": str(directory / "client_key"),
        "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={directory}/known_hosts",
    }
    inventory = {"all": {"vars": common, "children": groups}}
    (directory / "inventory.json").write_text(json.dumps(inventory), encoding="utf-8")


def _host_variables(specified: Mapping[str, Any]) -> dict[str, object]:
    interpreter = {"ansible_python_interpreter": specified["python"]} if specified["has_python"] else {}
    user = {"ansible_user": specified["user"]} if specified["user"] else {}
    return {"ansible_host": specified["address"], **interpreter, **user, **specified["inventory"]}


def _wrapped(ssh: OpenSsh, directory: Path) -> Path:
    """The ssh program; with the libraries that were unpacked with it, where it was."""
    if not ssh.variables:
        return ssh.program("ssh")
    words = " ".join(shlex.quote(f"{name}={value}") for name, value in ssh.variables.items())
    script = directory / "ssh"
    script.write_text(f'#!/bin/sh\nexec env {words} {shlex.quote(str(ssh.program("ssh")))} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script
