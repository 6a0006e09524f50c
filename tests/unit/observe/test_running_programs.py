import os
import threading
import time
from pathlib import Path

from fastinstall.observe.running_programs import find_outdated_programs

BEYOND_ANY = 1 << 23
"""A number above all process numbers of Linux."""


def _process(directory: Path, maps: bytes) -> None:
    """Add a process whose `maps` file takes a while to read."""
    directory.mkdir(parents=True)
    (directory / "comm").write_bytes(b"server\n")
    os.mkfifo(directory / "maps")

    def answer() -> None:
        with (directory / "maps").open("wb") as pipe:  # opening a FIFO blocks until a reader opens it too
            time.sleep(0.2)
            pipe.write(maps)

    threading.Thread(target=answer, daemon=True).start()


def test_the_time_of_the_search_omits_waiting(tmp_path: Path) -> None:
    """On a busy machine, waiting would otherwise use up the time limit before the newest processes are searched."""
    numbers = [BEYOND_ANY, BEYOND_ANY + 1]
    moved = os.fsencode(tmp_path / "share/fastinstall/tx/1/aside/PIL/_imaging.so")
    for number in numbers:
        _process(tmp_path / "proc" / str(number), moved + b"\n")
    found = find_outdated_programs(tmp_path, tmp_path / "proc", seconds=0.1)
    assert [each.pid for each in found] == numbers
