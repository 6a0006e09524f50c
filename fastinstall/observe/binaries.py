"""What a process of the target that imports PIL would load; from files alone, nothing is imported.

What PIL's extension modules ask of a CPU; what was decoded once is kept under the file's hash.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.elf.description import Confidence, IsaScan, Linkage
from fastinstall.elf.image import ElfError
from fastinstall.elf.linkage import read_linkage
from fastinstall.elf.loader.simulation import ProcessSettings
from fastinstall.model.facts import InstalledStack, Interpreter
from fastinstall.observe.stack import Loader

_CORE = "_imaging"


def observe_linkage(interpreter: Interpreter, stack: InstalledStack, loader: Loader) -> Linkage:
    """Simulate a process of the interpreter that opens PIL's extension modules, the core first.

    Args:
        interpreter: the target's Python.
        stack: PIL as it lies there.
        loader: what the dynamic loader goes by, beside the files.

    Returns:
        A linkage with nothing but a `problem` where the interpreter is none that the loader begins (a script, a
        static program), or cannot be read; one without modules where there is no PIL.
    """
    modules = (
        tuple(_list_extension_modules(stack.directory, interpreter.extension_suffix))
        if stack.directory is not None
        else ()
    )
    settings = ProcessSettings(
        program=Path(os.path.realpath(interpreter.executable)),
        library_path=loader.library_path,
        preload=loader.preload,
        hwcaps=loader.hwcaps,
        level=loader.level,
        platform=loader.platform,
        capabilities=loader.capabilities,
    )
    try:
        return read_linkage(modules, settings)
    except (OSError, ElfError) as error:
        return Linkage(problem=str(error))


def _list_extension_modules(directory: PurePath, extension_suffix: str) -> Iterator[Path]:
    """The files that `import PIL.NAME` would take, by the order of the import system's suffixes."""
    found: dict[str, Path] = {}
    names = _list_names(directory)
    for suffix in (extension_suffix, ".abi3.so", ".so"):
        for name in names:
            module = name.removesuffix(suffix)
            if module != name and "." not in module:
                found.setdefault(module, Path(directory, name))
    yield from (found[module] for module in sorted(found, key=lambda module: (module != _CORE, module)))


def _list_names(directory: PurePath) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in Path(directory).iterdir()))
    except OSError:
        return ()


_DOCUMENT = "isa"


def observe_isa(stack: InstalledStack, *, cache: Path | None, scan: bool) -> tuple[IsaScan, ...]:
    """Scan the core (of one with copies each copy) and PIL's other extension modules, in this order.

    Args:
        stack: PIL as it lies in site-packages.
        cache: a directory that keeps scans; None keeps and takes nothing.
        scan: decode what was not kept; else what its note says has to do.
    """
    return tuple(_scan(path, digest, cache, scan=scan) for path, digest in _list_scanned_modules(stack))


def _list_scanned_modules(stack: InstalledStack) -> Iterator[tuple[Path, str]]:
    """Files with code of this interpreter's, and their hashes where the stack has them."""
    core = stack.core
    if core is not None and core.readable:
        copies = [(Path(copy.path), copy.sha256) for copy in core.levels if not copy.problem]
        yield from copies or [(Path(core.path), core.sha256)]
    if stack.directory is None or core is None:
        return
    suffix = core.path.name.removeprefix(_CORE)
    for path in sorted(_list_shared_objects(Path(stack.directory))):
        if path.name.endswith((suffix, ".abi3.so")) and path.name != core.path.name:
            yield path, ""


def _list_shared_objects(directory: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory) if entry.name.endswith(".so")]
    except OSError:
        return []


def _scan(path: Path, digest: str, cache: Path | None, *, scan: bool) -> IsaScan:
    from fastinstall.elf.isa.verdict import scan_isa  # noqa: PLC0415 (at the side of subprocesses that are under way)

    with suppress(OSError):
        digest = digest or files.sha256(path)
    kept = _read_kept_scan(path, digest, cache)
    if kept is not None:
        return kept
    found = scan_isa(path, sha256=digest, decode=scan)
    if cache is not None and not found.problem and found.confidence is not Confidence.UNVERIFIED:
        _keep(found, cache)
    return found


def _place(cache: Path, digest: str) -> Path:
    from fastinstall.elf.isa.verdict import ALGORITHM  # noqa: PLC0415 (likewise)

    return cache / f"{digest}-{ALGORITHM}.json"


def _read_kept_scan(path: Path, digest: str, cache: Path | None) -> IsaScan | None:
    """The scan of a file of this content; a damaged entry is none, and will be written again."""
    if cache is None or not digest:
        return None

    from fastinstall.core.values import open_document  # noqa: PLC0415 (likewise)

    place = _place(cache, digest)
    with suppress(OSError, ValueError, DocumentError):
        found = open_document(IsaScan, _DOCUMENT, json_data(foreign.read_text(place)), file=place)
        return replace(found, path=path) if found.sha256 == digest else None
    return None


def _keep(scan: IsaScan, cache: Path) -> None:
    from fastinstall.core.values import document, dump  # noqa: PLC0415 (likewise)

    with suppress(OSError):
        files.write_text(_place(cache, scan.sha256), dump(document(_DOCUMENT, scan)), durable=False)
