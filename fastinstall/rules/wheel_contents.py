"""Whether a wheel brings what its RECORD lists, and of a Pillow nothing else than PIL. Pure.

Source: the binary distribution format of packaging.python.org (PEP 427), "The .dist-info directory".
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from fastinstall.model.archive import Objection
from fastinstall.model.recipe import LIBRARIES

_UNLISTED = ("RECORD.jws", "RECORD.p7s")
_ALGORITHMS = ("sha256", "sha384", "sha512")
_SCRIPTS = re.compile(r"^\s*\[\s*(?:console|gui)_scripts\s*\]", re.MULTILINE)
_METADATA = re.compile(r"[^/]+\.dist-info")
_COLUMNS = 3


def metadata_of(names: Iterable[str]) -> str:
    """Return the only `.dist-info` directory, or "" if there is not exactly one."""
    found = {name.partition("/")[0] for name in names}
    metadata = [name for name in found if _METADATA.fullmatch(name)]
    return metadata[0] if len(metadata) == 1 else ""


def listed_digests(record: str) -> tuple[dict[str, tuple[str, str]], Objection | None]:
    """What RECORD says.

    Args:
        record: its text.

    Returns:
        Algorithm and digest by name (both empty where none is given), and what is wrong with it.
    """
    rows = [row for row in csv.reader(record.splitlines()) if row]
    odd = next((row for row in rows if len(row) != _COLUMNS), None)
    if odd is not None:
        return {}, Objection(member="RECORD", reason=f"has a row that is none: {','.join(odd)[:80]!r}")
    twice = next((name for name, count in Counter(row[0] for row in rows).items() if count > 1), None)
    if twice is not None:
        return {}, Objection(member=twice, reason="is listed twice in RECORD")
    return {name: (digest.partition("=")[0], digest.partition("=")[2]) for name, digest, _ in rows}, None


def objection_to_record(
    listed: Mapping[str, tuple[str, str]], digests: Mapping[str, Mapping[str, str]], metadata: str
) -> Objection | None:
    """The first way in which RECORD and content disagree, or None.

    Args:
        listed: what RECORD says, as `listed_digests` reads it.
        digests: of each file that is there, by algorithm, as RECORD writes them.
        metadata: the name of the `.dist-info` directory.
    """
    own = {f"{metadata}/{name}" for name in ("RECORD", *_UNLISTED)}
    for name in digests:
        algorithm, digest = listed.get(name, ("", ""))
        if name in own:
            continue
        if name not in listed:
            return Objection(member=name, reason="is not listed in RECORD")
        if algorithm not in _ALGORITHMS:
            return Objection(member=name, reason=f"has no digest in RECORD that counts ({algorithm or 'none'})")
        if digests[name].get(algorithm) != digest:
            return Objection(member=name, reason="has another content than RECORD says")
    gone = next((name for name in listed if name not in digests), None)
    return Objection(member=gone, reason="is listed in RECORD and is not there") if gone is not None else None


def algorithms(listed: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """With which algorithm the digest of each file is given, where it is one that counts."""
    return {name: algorithm for name, (algorithm, _) in listed.items() if algorithm in _ALGORITHMS}


def foreign_members(names: Iterable[str], metadata: str, package: str) -> Iterator[Objection]:
    """Members that a wheel of this import package has no business to bring.

    What comes in is moved into site-packages by its top-level names; a module, a `.pth` file or a script that
    stands beside PIL would run for every program there.

    Args:
        names: of all files.
        metadata: the name of the `.dist-info` directory.
        package: the import package, "PIL".
    """
    own = {package, metadata}
    for name in names:
        top = name.partition("/")[0]
        if "/" not in name or (top not in own and top.lower() not in LIBRARIES):
            yield Objection(member=name, reason=f"is no part of {package}, and would lie beside it in site-packages")
        elif "__pycache__" in name.split("/") or name.endswith(".pyc"):
            yield Objection(member=name, reason="is bytecode, which would run in place of the source that is read")


def scripts_objection(entry_points: str, metadata: str) -> Objection | None:
    """Whether `entry_points.txt` asks for programs in `bin`, which no Pillow has."""
    if not _SCRIPTS.search(entry_points):
        return None
    return Objection(member=f"{metadata}/entry_points.txt", reason="asks for programs in the environment's bin")
