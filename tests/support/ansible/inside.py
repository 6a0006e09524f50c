"""Makes machines out of namespaces, as the first process of a process namespace of its own.

It is a program for `ansible_machines`, which starts it and ends it; with it ends everything that it has made: all
processes, networks and mounts of the machines, and their disks, which are in memory.

    python ansible_inside.py SPECIFICATION.json     the first process; prints its number as its caller sees it
    python ansible_inside.py SPECIFICATION.json N   machine N, in its own namespaces
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DISKS = Path("/media")
"""Where each machine has its disk, seen by all; a machine itself sees its own disk here."""
USER = 54321
"""The number of a machine's ordinary user, and of their group; nobody else has it."""

_COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "tcc")
_SECONDS = 120.0


def keep(specification: Path) -> None:
    """Make all machines, say so, and stay until somebody ends us."""
    seen_outside = Path("/proc/self").readlink()  # /proc is still that of the caller
    document = json.loads(specification.read_text(encoding="utf-8"))
    _call("mount", "--make-rprivate", "/")
    _call("mount", "-t", "proc", "proc", "/proc")
    for directory in (DISKS, Path("/run")):
        _call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", directory)
    _call(document["ip"], "link", "set", "lo", "up")
    for number in range(len(document["machines"])):
        _start(document, number, specification)
    _wait_for(document["machines"])
    print(seen_outside, flush=True)  # noqa: T201 (its caller reads it)
    _reap_forever()


def be(document: dict[str, Any], number: int) -> None:
    """Become a machine, in a network and with mounts of its own: in the end sshd."""
    machine = document["machines"][number]
    disk = DISKS / machine["name"]
    home, empty = disk / "home", disk / "etc" / "empty"
    for directory in (home, disk / "tmp", disk / "etc"):
        directory.mkdir()
    (disk / "tmp").chmod(0o1777)
    empty.touch()
    empty.chmod(0o644)
    # Not one file over another: that ends when the system's own is replaced, by apt for one.
    _lay_over(Path("/etc"), disk)
    Path("/etc/passwd").write_text(_passwd(machine["user"]), encoding="utf-8")
    shutil.copy(document["authorized_keys"], disk / "etc" / "authorized_keys")  # sshd reads it as who logs in
    (disk / "etc" / "sshd_config").write_text(_sshd_config(document, machine), encoding="utf-8")
    _make_environment(machine, disk / "env")
    for source, target in _covered(machine, disk):
        _call("mount", "--bind", source, target)
    if not machine["has_python"]:
        _remove_pythons(disk)
    if machine["user"]:
        _admit(machine, disk)
    _call("hostname", machine["name"])
    _call("mount", "--rbind", disk, DISKS)
    _call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    Path("/run/sshd").mkdir()
    (DISKS / "ready").touch()
    if not machine["sshd"]:
        signal.pause()
    server = (document["sshd"], "-D", "-e", "-f", str(DISKS / "etc" / "sshd_config"))
    argv = (*machine["wrapper"], *server)
    program = shutil.which(argv[0])
    assert program is not None, f"{argv[0]} is missing"
    os.execvpe(program, argv, {**os.environ, **document["variables"]})  # noqa: S606 (there is no shell here to avoid)


def _make_environment(machine: dict[str, Any], prefix: Path) -> None:
    """An empty one; where it has a disk of its own, on that."""
    prefix.mkdir()
    if machine["environment_megabytes"] is not None:
        size = f"mode=755,size={machine['environment_megabytes']}m"
        _call("mount", "-t", "tmpfs", "-o", size, "tmpfs", prefix)
    _call(machine["python"], "-m", "venv", "--without-pip", prefix)


def _start(document: dict[str, Any], number: int, specification: Path) -> None:
    """Lay a cable to a machine, and switch it on."""
    machine = document["machines"][number]
    name, disk = machine["name"], DISKS / machine["name"]
    disk.mkdir()
    _call("mount", "-t", "tmpfs", "-o", f"mode=755,size={machine['megabytes']}m", "tmpfs", disk)
    (disk / "log").touch()
    for words in (
        f"netns add {name}",
        f"link add cable{number} type veth peer name eth0 netns {name}",
        f"address add {machine['gateway']}/30 dev cable{number}",
        f"link set cable{number} up",
        f"-n {name} address add {machine['address']}/30 dev eth0",
        f"-n {name} link set eth0 up",
        f"-n {name} link set lo up",
    ):
        _call(document["ip"], *words.split())
    inside = ("nsenter", f"--net=/run/netns/{name}", "unshare", "--mount", "--uts")
    argv = (*inside, sys.executable, __file__, str(specification), str(number))
    with (disk / "log").open("w") as log:
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _wait_for(machines: list[dict[str, Any]]) -> None:
    """Until every sshd listens; the log of one that does not is the message."""
    deadline = time.monotonic() + _SECONDS
    for machine in machines:
        log = DISKS / machine["name"] / "log"
        heard = "Server listening" if machine["sshd"] else ""
        while not ((DISKS / machine["name"] / "ready").exists() and heard in log.read_text(encoding="utf-8")):
            if time.monotonic() > deadline:
                sys.exit(f"{machine['name']} does not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.01)


def _covered(machine: dict[str, Any], disk: Path) -> list[tuple[str | Path, str | Path]]:
    """Files that lie over those of the system, as the machine is bare and has no compiler."""
    missing = {path.resolve() for name in _COMPILERS for path in _programs(name)}
    covered: list[tuple[str | Path, str | Path]] = [(disk / "etc" / "empty", path) for path in missing]
    return covered + [(source, target) for target, source in machine["covered"].items()]


def _remove_pythons(disk: Path) -> None:
    """Take every Python off PATH."""
    for directory in (Path("/usr/bin"), Path("/usr/local/bin")):
        _lay_over(directory, disk)
        for python in directory.glob("python*"):
            python.unlink()


def _admit(machine: dict[str, Any], disk: Path) -> None:
    """An ordinary user: a home, the way to the interpreter, /opt for root, and sudo without a password."""
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
    """Let everybody through the directories above an interpreter and what it is a link to."""
    laid: list[Path] = []
    for directory in reversed([*python.parents, *python.resolve().parents]):
        if directory.stat().st_mode & 0o005 == 0o005:
            continue
        if not any(directory.is_relative_to(other) for other in laid):
            _lay_over(directory, disk)
            laid.append(directory)
        directory.chmod(0o755)


def _lay_over(directory: Path, disk: Path) -> None:
    """Let only this machine see what it changes in a directory of the system."""
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
    return (
        f"root:x:0:0:root:{DISKS}/home:/bin/sh\n{ordinary}"
        "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
    )


def _sshd_config(document: dict[str, Any], machine: dict[str, Any]) -> str:
    path = "/usr/bin:/bin:/usr/sbin:/sbin"
    variables = {"PATH": path, "TMPDIR": str(DISKS / "tmp"), **machine["variables"]}
    words = " ".join(f'"{name}={value}"' for name, value in variables.items())
    lines = (
        f"ListenAddress {machine['address']}",
        f"HostKey {machine['host_key']}",
        f"AuthorizedKeysFile {DISKS}/etc/authorized_keys",
        f"PidFile {DISKS}/sshd.pid",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "StrictModes no",
        "UseDNS no",
        "Subsystem sftp internal-sftp",
        f"SetEnv {words}",
        *document["server_options"],
    )
    return "\n".join(lines) + "\n"


def _reap_forever() -> None:
    """Be a first process: collect the dead, until we are killed."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.pause()


def _call(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        be(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2]))
    else:
        keep(Path(sys.argv[1]))
