"""The files that a conda package's record claims, compared with what lies there.

They are compared by size, by hash, and by the targets of symbolic links.
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from fastinstall.core.values import immutable
from fastinstall.observe.conda.records import Fields, matters
from fastinstall.observe.stack import digest_file

_BYTECODE = (".pyc", ".pyo")


TELLING = (".dist-info/INSTALLER", ".dist-info/RECORD", ".dist-info/METADATA")


_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes: of a link to nowhere


@immutable
class ClaimedFile:
    """A file as a package claims it.

    Attributes:
        path: where it is, relative to the prefix.
        wanted: where the package wants it; differs if py-rattler moved it aside for another package's file.
        size: in bytes; None if unknown, or if conda wrote the prefix into the file.
        sha256: of its content, hexadecimal; empty if unknown.
        link: whether it is a symbolic link.
        link_sha256: of the link's text, if py-rattler recorded it; else empty.
    """

    path: str
    wanted: str
    size: int | None = None
    sha256: str = ""
    link: bool = False
    link_sha256: str = ""


def list_claimed_files(record: Fields, site: str, *, everything: bool) -> tuple[ClaimedFile, ...]:
    """List what a record claims in the environment, without bytecode and directories; malformed entries are skipped.

    Args:
        record: all fields of the record, parsed.
        site: the environment's site-packages, relative to the prefix; records of noarch packages do not name it.
        everything: include files that matter neither to PIL nor to finding a distribution's installer.
    """

    def counts(path: str) -> bool:
        return (everything or matters(path) or path.endswith(TELLING)) and _is_inside(path)

    paths = record.get("paths_data")
    described = paths.get("paths") if isinstance(paths, dict) else None
    entries: dict[str, ClaimedFile] = {}
    for each in described if isinstance(described, list) else ():
        path = each.get("_path") if isinstance(each, dict) else None
        if isinstance(path, str) and counts(placed := _resolve_noarch_path(path, site)):
            entries[placed] = _make_claimed_file(each, placed)
    listed = record.get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else list(entries)
    claimed = (name for name in dict.fromkeys(names) if counts(name) and not name.endswith(_BYTECODE))
    return tuple(entries.get(name) or ClaimedFile(path=name, wanted=name) for name in claimed)


def _is_inside(path: str) -> bool:
    """Return whether a path can only lead into the environment: what a record says is arbitrary."""
    return not path.startswith("/") and ".." not in path.split("/")


def _resolve_noarch_path(path: str, site: str) -> str:
    """Return where a file of a noarch package is; conda records the path that the package meant."""
    for place, target in (("site-packages/", f"{site}/"), ("python-scripts/", "bin/")):
        if path.startswith(place):
            return target + path.removeprefix(place)
    return path


def _make_claimed_file(each: dict[str, Any], path: str) -> ClaimedFile:
    link = each.get("path_type") == "softlink"
    texts = {key: found for key, found in each.items() if isinstance(found, str)}
    wanted = texts.get("original_path", path)
    size, sha256, in_prefix = each.get("size_in_bytes"), texts.get("sha256", ""), texts.get("sha256_in_prefix", "")
    rewritten = "prefix_placeholder" in each or in_prefix not in ("", sha256)
    return ClaimedFile(
        path=path,
        wanted=wanted if _is_inside(wanted) else path,
        size=size if isinstance(size, int) and not rewritten and not link else None,
        sha256=sha256 if link else in_prefix or ("" if rewritten else sha256),
        link=link,
        link_sha256=in_prefix if link and in_prefix != sha256 else "",
    )


class FilesOfPrefix:
    """The files of an environment; each is read once, however many packages claim it."""

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        self._digests: dict[str, str] = {}

    def is_as_recorded(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Return whether a file, wherever it is, matches its record; an unreadable file does not.

        Args:
            path: of the file, relative to the prefix.
            own: all files that the package claims.
        """
        place = f"{self._prefix}/{path}"
        try:
            if entry.link and os.path.islink(place):  # noqa: PTH114 (a hundred objects would cost too much time)
                return self._is_own_link(entry, path, own)
            status = os.stat(place)  # noqa: PTH116 (likewise)
            if not stat.S_ISREG(status.st_mode) or entry.size not in (None, status.st_size):
                return False
            return self._digest(path) == entry.sha256 if entry.sha256 else not entry.link
        except (OSError, ValueError):
            return False

    def _is_own_link(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Return whether a symbolic link is the package's, by its text, its target, and the target's content."""
        target = os.readlink(f"{self._prefix}/{path}")  # noqa: PTH115 (likewise)
        if entry.link_sha256:
            return hashlib.sha256(os.fsencode(target)).hexdigest() == entry.link_sha256
        if os.path.normpath(f"./{path.rpartition('/')[0]}/{target}") in own:
            return True
        if entry.sha256 in ("", _NOTHING):
            return not any(each.startswith(f"{path}.") for each in own)
        return self._digest(path) == entry.sha256

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = digest_file(f"{self._prefix}/{path}", "sha256").hex()
        return self._digests[path]
