"""Machines for Ansible, each with its own mounts, disk, home and name, which are removed after the test.

Real: separate file systems of limited size, users and their rights, and Ansible's ssh plugin. Simulated: the ssh
program, which is a script that enters a machine's namespaces. Machines share the kernel and /usr, see each other's
processes, and have no network. Only root can create machines.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from integration.ansible_role.inside import DISKS, LOGIN, PROCESSES
from support.machine.needs import require_system
from support.sandbox import Result, Sandbox, run

_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child=KILL")
_SSH = f"""\
#!/bin/sh
# ssh [OPTION...] MACHINE COMMAND
while [ $# -gt 2 ]; do shift; done
number=$(cat "/proc/@/root{PROCESSES}/$1" 2>/dev/null) || {{
  echo "ssh: connect to host $1 port 22: Connection refused" >&2
  exit 255
}}
own=/proc/@/root/proc/$number/ns
exec nsenter --net=/proc/@/ns/net --pid=/proc/@/ns/pid --mount="$own/mnt" --uts="$own/uts" sh {LOGIN} "$2"
"""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The specification of a machine.

    Attributes:
        name: its name in the inventory, and its hostname.
        megabytes: the size of its disk, in megabytes.
        environment_megabytes: the size of a separate disk for its environment; None if it has none.
        is_reachable: whether logins succeed.
        has_python: whether a Python is on PATH.
        python: its environment's interpreter, which also runs Ansible's modules unless the inventory names another.
        variables: environment variables of logins.
        covered: replacement files, by the path that each is mounted over.
        wrapper: a command that runs the login's command, for example `setarch`.
        inventory: its variables in the inventory.
        user: an ordinary user that Ansible logs in as, who may become root with sudo; empty for root.
    """

    name: str
    megabytes: int = 250
    environment_megabytes: int | None = None
    is_reachable: bool = True
    has_python: bool = True
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)
    covered: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    inventory: Mapping[str, object] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Running machines.

    Attributes:
        process: the ID of the process that keeps the machines running.
        directory: the controller's directory.
        sandbox: the sandbox in which the controller works.
    """

    process: int
    directory: Path
    sandbox: Sandbox

    @property
    def inventory(self) -> Path:
        """Return the inventory, for `ansible-playbook -i`."""
        return self.directory / "inventory.json"

    @property
    def ssh(self) -> Path:
        """Return the program with which the controller reaches the machines."""
        return self.directory / "ssh"

    def disk(self, name: str) -> Path:
        """Return a machine's disk, as a path outside the machine."""
        return Path(f"/proc/{self.process}/root{DISKS}/{name}")

    def run(self, *argv: str | Path, env: Mapping[str, str | None] | None = None) -> Result:
        """Run a command on the controller."""
        return run(argv, self.sandbox.variables(env), directory=self.directory)


@contextmanager
def network(machines: Sequence[Machine], sandbox: Sandbox) -> Iterator[Network]:
    """Start machines; skip the test if that is not permitted.

    The machines' first process is killed when the calling process dies (prctl(2), PR_SET_PDEATHSIG). All other
    processes of the machines are killed with that first process (pid_namespaces(7)).
    """
    _require_namespaces()
    require_system(not any(each.user for each in machines) or bool(shutil.which("sudo")), "sudo")
    directory = sandbox.root / "controller"
    directory.mkdir()
    specification = directory / "machines.json"
    specification.write_text(json.dumps([asdict(machine) for machine in machines]), encoding="utf-8")
    program = Path(__file__).with_name("inside.py")
    argv = ("setpriv", "--pdeathsig", "KILL", *_NAMESPACES, sys.executable, program, specification)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as kept:
        try:
            said = kept.stdout.readline().strip() if kept.stdout is not None else ""
            assert said.isdigit(), "the machines do not start"
            running = Network(process=int(said), directory=directory, sandbox=sandbox)
            running.ssh.write_text(_SSH.replace("@", said), encoding="utf-8")
            running.ssh.chmod(0o755)
            _write_inventory(machines, running)
            yield running
        finally:
            kept.kill()


def _require_namespaces() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make machines out of namespaces")
    tried = subprocess.run((*_NAMESPACES, "true"), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine forbids namespaces: {tried.stderr.strip()}")


def _write_inventory(machines: Sequence[Machine], running: Network) -> None:
    common = {
        "ansible_user": "root",
        "ansible_ssh_executable": str(running.ssh),
        "ansible_ssh_transfer_method": "piped",  # sftp would need sshd, which the machines do not run
    }
    hosts = {machine.name: _host_variables(machine) for machine in machines}
    inventory = {"all": {"vars": common, "children": {"fleet": {"hosts": hosts}}}}
    running.inventory.write_text(json.dumps(inventory, indent=2), encoding="utf-8")


def _host_variables(machine: Machine) -> dict[str, object]:
    interpreter = {"ansible_python_interpreter": machine.python} if machine.has_python else {}
    user = {"ansible_user": machine.user} if machine.user else {}
    return {**interpreter, **user, **machine.inventory}
