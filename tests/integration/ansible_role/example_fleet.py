"""A fleet: three healthy hosts, and hosts that have one problem each.

Some problems are simulated. For the old CPU, GLIBC_TUNABLES hides CPU features from the real loader, and /proc/cpuinfo
is replaced. For the 32-bit host, setarch(8) makes the kernel report i686. For the Arm host and the host with outdated
facts, the facts files are edited. Full disks, a missing Python and a lock held by another process are real. Ansible
logs in to web3 as an ordinary user and becomes root with sudo.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from integration.ansible_role.fleet import Changes
from integration.ansible_role.machines import Machine

HEALTHY = ("web1", "web2", "web3")
PERSON = "kim"
"""The ordinary user of web3."""
TOLD: Mapping[str, tuple[str, ...]] = {
    "arm": ("armv8-a",),
    "busy": ("/media/env: ", " is working on this environment"),
    "gone": ("Connection refused",),
    "narrow": ("No space left on device",),
    "no-python": ("this host has no Python", "install Python 3.11 or later"),
    "old-cpu": ("Core(TM)2", "lacks", "sse4_2 for x86-64-v2", "unverified-cpu"),
    "old-facts": ("days",),
    "small": ("12 MB", "the wheels need"),
    "thirty-two": ("no Python on this machine can run fastinstall", "i686"),
}
"""Parts of the message that each unhealthy host must report."""

CHANGES: Changes = {
    "arm": {"interpreter": {"architecture": "aarch64"}, "cpu": {"architecture": "aarch64"}},
    "old-facts": {"observed_at": "2020-02-02T02:02:02Z"},
}
"""Entries of facts files that differ from the hosts."""

_MASKED = ("SSE3", "SSSE3", "SSE4_1", "SSE4_2", "POPCNT", "AVX", "AVX2", "AVX512F")
_OLD_CPU = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{feature}" for feature in _MASKED)}
_CPUINFO = (
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM)2 CPU 6600 @ 2.40GHz\n"
    "flags\t\t: fpu tsc msr pae cx8 sep cmov mmx fxsr sse sse2 ht syscall nx lm constant_tsc pni ssse3 cx16\n\n"
)


def machines(directory: Path) -> list[Machine]:
    """Return all machines, in the order of the inventory.

    Args:
        directory: the directory for the machines' files.
    """
    cpuinfo = directory / "cpuinfo"
    cpuinfo.write_text(_CPUINFO, encoding="utf-8")
    return [
        Machine(name="web1"),
        Machine(name="arm"),
        Machine(name="busy"),
        Machine(name="gone", is_reachable=False),
        Machine(name="narrow", environment_megabytes=12),
        Machine(name="no-python", has_python=False),
        Machine(name="old-cpu", variables=_OLD_CPU, covered={"/proc/cpuinfo": str(cpuinfo)}),
        Machine(name="old-facts"),
        Machine(name="small", megabytes=13),
        Machine(name="thirty-two", wrapper=("setarch", "i686")),
        Machine(name="web2"),
        Machine(name="web3", user=PERSON, inventory={"ansible_become": True}),
    ]


@contextmanager
def held(prefix: Path) -> Iterator[None]:
    """Hold the lock of an environment, as a run of fastinstall by another controller would."""
    descriptor = os.open(prefix, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
