"""Program that simulates machines with namespaces; it is PID 1 of a process namespace of its own.

The module `machines` starts and ends it. When it ends, the machines' processes, mounts and in-memory disks vanish.

    python inside.py SPECIFICATION.json       the first process; prints its process ID in the caller's namespace
    python inside.py SPECIFICATION.json N     machine N, in its own namespaces
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DISKS = Path("/media")
"""Contains each machine's disk, outside the machines; within a machine, its own disk."""
PROCESSES = Path("/run")
"""Contains a file for each running machine, with the number of its process."""
USER = 54321
"""User and group ID of a machine's ordinary user; no other user has it."""
LOGIN = DISKS / "etc/login"
"""On a machine: runs its argument in a shell as a login does."""

_COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "tcc")
_SECONDS = 120.0


def keep(specification: Path) -> None:
    """Start all machines, print this process's ID in the caller's namespace, and wait until killed."""
    seen_outside = Path("/proc/self").readlink()  # /proc still shows the caller's process namespace
    machines = json.loads(specification.read_text(encoding="utf-8"))
    _call("mount", "--make-rprivate", "/")
    _call("mount", "-t", "proc", "proc", "/proc")
    for directory in (DISKS, PROCESSES):
        _call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", directory)
    started = [_start(machine, number, specification) for number, machine in enumerate(machines)]
    for machine, process in zip(machines, started, strict=True):
        _wait_for(machine, process)
    print(seen_outside, flush=True)  # noqa: T201 (the caller reads it)
    _reap_forever()


def be(machine: dict[str, Any]) -> None:
    """Turn this process into a machine with its own mounts, and wait for logins."""
    disk = DISKS / machine["name"]
    empty = disk / "etc" / "empty"
    for directory in (disk / "home", disk / "tmp", disk / "etc"):
        directory.mkdir()
    (disk / "tmp").chmod(0o1777)
    empty.touch()
    empty.chmod(0o644)
    # An overlay on all of /etc: a mount over a single file disappears when a program such as apt replaces that file.
    _lay_over(Path("/etc"), disk)
    Path("/etc/passwd").write_text(_passwd(machine["user"]), encoding="utf-8")
    (disk / "etc/login").write_text(_login(machine), encoding="utf-8")
    _make_environment(machine, disk / "env")
    for source, target in _covered(machine, disk):
        _call("mount", "--bind", source, target)
    if not machine["has_python"]:
        _remove_pythons(disk)
    if machine["user"]:
        _admit(machine, disk)
    _call("hostname", machine["name"])
    _call("mount", "--rbind", disk, DISKS)
    (DISKS / "ready").touch()
    signal.pause()


def _make_environment(machine: dict[str, Any], prefix: Path) -> None:
    """Make an empty virtual environment, on a separate disk if the machine has one for environments."""
    prefix.mkdir()
    if machine["environment_megabytes"] is not None:
        size = f"mode=755,size={machine['environment_megabytes']}m"
        _call("mount", "-t", "tmpfs", "-o", size, "tmpfs", prefix)
    _call(machine["python"], "-m", "venv", "--without-pip", prefix)


def _start(machine: dict[str, Any], number: int, specification: Path) -> "subprocess.Popen[bytes]":
    """Start a machine."""
    disk = DISKS / machine["name"]
    disk.mkdir()
    _call("mount", "-t", "tmpfs", "-o", f"mode=755,size={machine['megabytes']}m", "tmpfs", disk)
    argv = ("unshare", "--mount", "--uts", sys.executable, __file__, specification, str(number))
    with (disk / "log").open("w") as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _wait_for(machine: dict[str, Any], process: "subprocess.Popen[bytes]") -> None:
    """Wait until a machine is ready; exit with its log if it does not start."""
    deadline = time.monotonic() + _SECONDS
    disk = DISKS / machine["name"]
    while not (disk / "ready").exists():
        if time.monotonic() > deadline:
            sys.exit(f"{machine['name']} does not start: {(disk / 'log').read_text(encoding='utf-8')}")
        time.sleep(0.01)
    if machine["is_reachable"]:
        (PROCESSES / machine["name"]).write_text(str(process.pid))


def _covered(machine: dict[str, Any], disk: Path) -> list[tuple[str | Path, str | Path]]:
    """List files to mount, as (source, target): an empty file over each compiler, and the machine's replacements."""
    missing = {path.resolve() for name in _COMPILERS for path in _programs(name)}
    covered: list[tuple[str | Path, str | Path]] = [(disk / "etc" / "empty", path) for path in missing]
    return covered + [(source, target) for target, source in machine["covered"].items()]


def _remove_pythons(disk: Path) -> None:
    """Delete every Python in /usr/bin and /usr/local/bin, for this machine only."""
    for directory in (Path("/usr/bin"), Path("/usr/local/bin")):
        _lay_over(directory, disk)
        for python in directory.glob("python*"):
            python.unlink()


def _admit(machine: dict[str, Any], disk: Path) -> None:
    """Create an ordinary user with a home, access to the interpreter and to /opt, and sudo without a password."""
    home, opt, sudoers = disk / machine["user"], disk / "opt", Path("/etc/sudoers")
    for directory in (home, opt):
        directory.mkdir()
    home.chmod(0o700)
    os.chown(home, USER, USER)
    _call("mount", "--bind", opt, "/opt")
    sudoers.write_text(f"{machine['user']} ALL=(ALL:ALL) NOPASSWD: ALL\n", encoding="utf-8")
    sudoers.chmod(0o440)
    _open_ways(Path(machine["python"]), disk)


def _open_ways(python: Path, disk: Path) -> None:
    """Let every user enter the directories above an interpreter and above its link target."""
    laid: list[Path] = []
    for directory in reversed([*python.parents, *python.resolve().parents]):
        if directory.stat().st_mode & 0o005 == 0o005:
            continue
        if not any(directory.is_relative_to(other) for other in laid):
            _lay_over(directory, disk)
            laid.append(directory)
        directory.chmod(0o755)


def _lay_over(directory: Path, disk: Path) -> None:
    """Put an overlay on a system directory, so that only this machine sees its changes."""
    upper, work = (disk / "etc" / name / str(directory).replace("/", "_") for name in ("upper", "work"))
    for made in (upper, work):
        made.mkdir(parents=True)
    layers = f"lowerdir={directory},upperdir={upper},workdir={work}"
    _call("mount", "-t", "overlay", "-o", layers, "overlay", directory)


def _programs(name: str) -> list[Path]:
    directories = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))
    return [directory / name for directory in directories if (directory / name).is_file()]


def _passwd(user: str) -> str:
    ordinary = f"{user}:*:{USER}:{USER}::{DISKS}/{user}:/bin/sh\n" if user else ""
    return f"root:x:0:0:root:{DISKS}/home:/bin/sh\n{ordinary}nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"


def _login(machine: dict[str, Any]) -> str:
    home = DISKS / (machine["user"] or "home")
    variables = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": home,
        "USER": machine["user"] or "root",
        "SHELL": "/bin/sh",
        "TMPDIR": DISKS / "tmp",
        **machine["variables"],
    }
    user = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups") if machine["user"] else ()
    words = ("env", "-i", *(f"{name}={value}" for name, value in variables.items()), *machine["wrapper"], *user)
    return f'umask 022\ncd {home}\nexec {shlex.join(words)} /bin/sh -c "$1"\n'


def _reap_forever() -> None:
    """Reap ended processes until killed, as PID 1 must."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.pause()


def _call(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    os.umask(0o022)
    if len(sys.argv) == 2:
        keep(Path(sys.argv[1]))
    else:
        be(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))[int(sys.argv[2])])
