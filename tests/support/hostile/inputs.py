"""Hostile inputs in place of a document: a path that is no regular file, or a document that cannot be read."""

import os
import shutil
import socket
from pathlib import Path

NO_FILES = ("fifo", "zeros", "directory", "socket", "loop", "nowhere")
"""Kinds of paths that are no files; see `put_no_file`."""


def put_no_file(place: Path, kind: str) -> None:
    """Create, at an unused path, something that can be opened but not read as a file."""
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
    """Bind a socket through a short path to its directory, as the path of a socket has at most 107 bytes."""
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{directory}/{place.name}")
    finally:
        os.close(directory)


def take_away(place: Path) -> None:
    """Remove a file, link or directory, if it exists."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
