"""The process that holds a lock, found in the kernel's list of locks."""

import os

import pytest

from fastinstall.core.lock import find_holder_in

LOCKS = """\
1: FLOCK  ADVISORY  WRITE 14485 fe:00:2172114 0 EOF
2: POSIX  ADVISORY  WRITE 777 fe:00:2172115 0 EOF
2: -> FLOCK  ADVISORY  WRITE 888 fe:00:2172114 0 EOF
3: FLOCK  ADVISORY  WRITE 999 00:2b:2172114 0 EOF
4: FLOCK  ADVISORY  WRITE 555 00:2b:4711 0 EOF
5: FLOCK  ADVISORY  WRITE -1 00:2c:31 0 EOF
"""


@pytest.mark.parametrize(
    ("device", "inode", "process"),
    [
        (os.makedev(0xFE, 0), 2172114, 14485),
        (os.makedev(0, 0x2B), 2172114, 999),
        (os.makedev(0, 0x99), 2172114, None),
        (os.makedev(0, 0x99), 4711, 555),
        (os.makedev(0xFE, 0), 2172115, None),
        (os.makedev(0, 0x2C), 31, None),
        (os.makedev(0xFE, 0), 5, None),
    ],
    ids=["by device", "other device", "ambiguous", "device told differently", "other kind", "other namespace", "none"],
)
def test_the_holder_is_told_by_device_and_inode(device: int, inode: int, process: int | None) -> None:
    assert find_holder_in(LOCKS, device=device, inode=inode) == process
