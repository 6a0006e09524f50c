"""The machines that tests of Ansible are run on: each by itself, bare, and gone whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ansible.machines import Machine, Network, network
from support.sandbox import NewSandbox, Sandbox

ALONE = (
    "import sys, time; from pathlib import Path; from support.sandbox import Sandbox;"
    "import support.ansible.machines as machines;"
    "root, cache = map(Path, sys.argv[1:]);"
    "sandbox = Sandbox(root=root, cache=cache, downloads=root);"
    "context = machines.network([machines.Machine(name='one')], sandbox);"
    "print(context.__enter__().process, flush=True); time.sleep(600)"
)
"""What switches a machine on and waits to be killed."""


@pytest.fixture(scope="module")
def machines(new_sandbox: NewSandbox) -> Iterator[Network]:
    declared = [Machine(name="bare", has_python=False, megabytes=20), Machine(name="off", sshd=False)]
    with new_sandbox() as sandbox, network(declared, sandbox) as switched_on:
        yield switched_on


def test_a_machine_is_reached_by_ssh_and_is_its_own(machines: Network) -> None:
    said = _ssh(machines, "bare", "hostname; df -m /media | tail -n1; cat /etc/passwd | wc -l; cat /proc/net/dev")
    hostname, disk, users, *interfaces = said.splitlines()
    assert hostname == "bare"
    assert disk.split()[1] == "20"
    assert users == "3"
    assert {line.partition(":")[0].strip() for line in interfaces if ":" in line} == {"eth0", "lo"}


def test_a_machine_has_no_compiler_and_no_way_out(machines: Network) -> None:
    said = _ssh(
        machines,
        "bare",
        "for each in cc gcc python3; do command -v $each && $each --version; done; cat /proc/net/route",
    )
    assert "GCC" not in said
    assert "Python" not in said
    networks = [line.split()[1] for line in said.splitlines() if line.startswith("eth0")]
    assert len(networks) == 1
    assert "00000000" not in networks, "there is a default route"


def test_nobody_listens_on_a_machine_that_is_off(machines: Network) -> None:
    assert "Connection refused" in _ssh(machines, "off", "true")


def test_killed_tests_leave_no_machine_processes_behind(sandbox: Sandbox) -> None:
    paths = os.pathsep.join((*sys.path, str(Path(__file__).parent.parent)))
    argv = (sys.executable, "-c", ALONE, sandbox.root, sandbox.cache)
    variables = {**sandbox.variables(), "PYTHONPATH": paths}
    with subprocess.Popen(argv, env=variables, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        said = tests.stdout.readline().strip()
        assert said.isdigit(), "the machine does not start"
        namespace = Path(f"/proc/{said}/ns/pid").readlink()
        assert len(_processes_in(namespace)) > 1
        tests.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while _processes_in(namespace) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _processes_in(namespace) == []


def _processes_in(namespace: Path) -> list[str]:
    """The processes of a process namespace; with the last of them its networks and mounts go."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_inside = (process / "ns" / "pid").readlink() == namespace and not _has_ended(process)
        except OSError:
            continue
        if is_inside:
            found.append(process.name)
    return found


def _has_ended(process: Path) -> bool:
    """Return whether a process waits to be reaped, which the first process of a container may never do."""
    return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _ssh(machines: Network, name: str, command: str) -> str:
    inventory = json.loads(machines.inventory.read_text(encoding="utf-8"))["all"]
    common, host = inventory["vars"], inventory["children"]["fleet"]["hosts"][name]
    ssh, key = common["ansible_ssh_executable"], common["ansible_ssh_private_key_file"]
    flags = (*common["ansible_ssh_common_args"].split(), "-i", key, "-o", "BatchMode=yes")
    return machines.run(ssh, *flags, f"root@{host['ansible_host']}", command).text
