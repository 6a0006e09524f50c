"""What PIL's extension modules ask of a CPU; what was decoded once is kept under the file's hash."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.model.facts import Stack
from fastinstall.model.isa import Confidence, IsaScan
from fastinstall.model.parsing import json_data
from fastinstall.system import files, foreign

_DOCUMENT = "isa"
_CORE = "_imaging"


def observe_isa(stack: Stack, *, cache: Path | None, scan: bool) -> tuple[IsaScan, ...]:
    """Scan the core (of one with copies each copy) and PIL's other extension modules, in this order.

    Args:
        stack: PIL as it lies in site-packages.
        cache: a directory that keeps scans; None keeps and takes nothing.
        scan: decode what was not kept; else what its note says has to do.
    """
    return tuple(_scan(path, digest, cache, scan=scan) for path, digest in _modules(stack))


def _modules(stack: Stack) -> Iterator[tuple[Path, str]]:
    """Files with code of this interpreter's, and their hashes where the stack has them."""
    core = stack.core
    if core is not None and core.readable:
        copies = [(Path(copy.path), copy.sha256) for copy in core.levels if not copy.problem]
        yield from copies or [(Path(core.path), core.sha256)]
    if stack.directory is None or core is None:
        return
    suffix = core.path.name.removeprefix(_CORE)
    for path in sorted(_entries(Path(stack.directory))):
        if path.name.endswith((suffix, ".abi3.so")) and path.name != core.path.name:
            yield path, ""


def _entries(directory: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory) if entry.name.endswith(".so")]
    except OSError:
        return []


def _scan(path: Path, digest: str, cache: Path | None, *, scan: bool) -> IsaScan:
    from fastinstall.binary.isa import scan_isa  # noqa: PLC0415 (at the side of subprocesses that are under way)

    with suppress(OSError):
        digest = digest or files.sha256(path)
    kept = _kept(path, digest, cache)
    if kept is not None:
        return kept
    found = scan_isa(path, sha256=digest, decode=scan)
    if cache is not None and not found.problem and found.confidence is not Confidence.UNVERIFIED:
        _keep(found, cache)
    return found


def _place(cache: Path, digest: str) -> Path:
    from fastinstall.binary.isa import ALGORITHM  # noqa: PLC0415 (likewise)

    return cache / f"{digest}-{ALGORITHM}.json"


def _kept(path: Path, digest: str, cache: Path | None) -> IsaScan | None:
    """The scan of a file of this content; a damaged entry is none, and will be written again."""
    if cache is None or not digest:
        return None

    from fastinstall.model.codec import open_document  # noqa: PLC0415 (likewise)

    place = _place(cache, digest)
    with suppress(OSError, ValueError, DocumentError):
        found = open_document(IsaScan, _DOCUMENT, json_data(foreign.read_text(place)), file=place)
        return replace(found, path=path) if found.sha256 == digest else None
    return None


def _keep(scan: IsaScan, cache: Path) -> None:
    from fastinstall.model.codec import document, dump  # noqa: PLC0415 (likewise)

    with suppress(OSError):
        files.write_text(_place(cache, scan.sha256), dump(document(_DOCUMENT, scan)), durable=False)
