"""The machines for tests of Ansible: isolated, bare, and removed whatever happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from integration.ansible_role.machines import Machine, network
from support.sandbox import Sandbox

ALONE = (
    "import sys, time; from pathlib import Path; from support.sandbox import Sandbox;"
    "import integration.ansible_role.machines as machines;"
    "root, cache = map(Path, sys.argv[1:]);"
    "sandbox = Sandbox(root=root, cache=cache, downloads=root);"
    "context = machines.network([machines.Machine(name='one')], sandbox);"
    "print(context.__enter__().process, flush=True); time.sleep(600)"
)
"""Starts a machine and waits to be killed."""

QUESTIONS = """
hostname; df -m /media | tail -n1; wc -l < /etc/passwd; tail -n +3 /proc/net/dev
for each in cc gcc python3; do command -v $each && $each --version; done
"""


def test_a_machine_is_its_own_without_a_compiler_or_a_network(sandbox: Sandbox) -> None:
    declared = [Machine(name="bare", has_python=False, megabytes=20), Machine(name="off", is_reachable=False)]
    with network(declared, sandbox) as machines:
        told = machines.run(machines.ssh, "-o", "User=root", "bare", QUESTIONS).stdout
        assert "Connection refused" in machines.run(machines.ssh, "off", "true").text
    hostname, disk, users, *rest = told.splitlines()
    assert (hostname, disk.split()[1], users) == ("bare", "20", "2")
    assert [line.partition(":")[0].strip() for line in rest if ":" in line] == ["lo"]
    assert "GCC" not in told
    assert "Python" not in told


def test_killed_tests_leave_no_machine_processes_behind(sandbox: Sandbox) -> None:
    paths = os.pathsep.join((*sys.path, str(Path(__file__).parents[2])))
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
    """List the running processes of a process namespace. When the last one ends, mounts and networks vanish."""
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
    """Return True if a process is a zombie: in a container, PID 1 may never reap it."""
    return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
