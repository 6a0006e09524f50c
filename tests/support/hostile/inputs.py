"""What somebody may put where a document is expected: no file at all, or one that no reader can follow."""

import os
import shutil
import socket
from pathlib import Path

NO_FILES = ("fifo", "zeros", "directory", "socket", "loop", "nowhere")
"""Kinds of what is no file; `put_no_file` makes each."""


def put_no_file(place: Path, kind: str) -> None:
    """Put something at a place, where nothing is, that can be opened and never be read as a file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(place)
        case "zeros":
            place.symlink_to("/dev/zero")
        case "directory":
            place.mkdir()
        case "socket":
            _bind(place)
        case "loop":
            place.symlink_to(place.name)
        case "nowhere":
            place.symlink_to("nowhere")


def _bind(place: Path) -> None:
    """Under a short name of its directory: that of a socket has 108 bytes at most."""
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{directory}/{place.name}")
    finally:
        os.close(directory)


def take_away(place: Path) -> None:
    """Remove whatever lies at a place."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
