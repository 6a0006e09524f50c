"""Find the files that a process of the target would load when it imports PIL, without importing anything.

PIL's extension modules are also scanned for the CPU features they need; scans are cached under the file's hash.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.codec import document, dump
from fastinstall.elf.description import Confidence, IsaScan, Linkage
from fastinstall.elf.image import ElfError
from fastinstall.elf.linkage import read_linkage
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.model.facts import InstalledStack

_CORE, _DOCUMENT = "_imaging", "isa"


def observe_linkage(directory: PurePath, extension_suffix: str, settings: ProcessSettings) -> Linkage:
    """Simulate how a process of the interpreter loads PIL's extension modules, the core first.

    Args:
        directory: the directory `PIL`.
        extension_suffix: see `Interpreter`.
        settings: the interpreter's program file, and the other inputs of the dynamic loader.

    Returns:
        The linkage. If a file cannot be read, or if the dynamic loader does not start the interpreter's program (a
        script, a static program), only the attribute `problem` is set.
    """
    try:
        return read_linkage(_list_extension_modules(directory, extension_suffix), settings)
    except (OSError, ElfError) as error:
        return Linkage(problem=str(error))


def _list_extension_modules(directory: PurePath, extension_suffix: str) -> tuple[Path, ...]:
    """List the files that `import PIL.NAME` would load, the core first, then by name.

    Of a module with several files, list the one whose suffix Python's import system tries first.
    """
    found: dict[str, Path] = {}
    names = foreign.list_names(Path(directory))
    for suffix in (extension_suffix, ".abi3.so", ".so"):
        for name in names:
            module = name.removesuffix(suffix)
            if module != name and "." not in module:
                found.setdefault(module, Path(directory, name))
    return tuple(found[module] for module in sorted(found, key=lambda module: (module != _CORE, module)))


def observe_isa(stack: InstalledStack, *, cache: Path, scan: bool) -> tuple[IsaScan, ...]:
    """Return scans of the core (of every copy if it has several), then of PIL's other extension modules.

    Args:
        stack: PIL as installed in site-packages.
        cache: the directory with cached scans.
        scan: if True, decode the code of files that have no cached scan; otherwise, read only the ISA note and compiler
            switches of these files.
    """
    return tuple(_scan(path, digest, cache, scan=scan) for path, digest in _list_scanned_modules(stack))


def _list_scanned_modules(stack: InstalledStack) -> Iterator[tuple[Path, str]]:
    """Yield the path of each extension module for this interpreter, with its SHA-256; "" if `stack` has no SHA-256."""
    core = stack.core
    if core is None:
        return
    if core.readable:
        copies = [(Path(copy.path), copy.sha256) for copy in core.levels if not copy.problem]
        yield from copies or [(Path(core.path), core.sha256)]
    directory, suffixes = Path(core.path).parent, (core.path.name.removeprefix(_CORE), ".abi3.so")
    for name in foreign.list_names(directory):
        if name.endswith(".so") and name.endswith(suffixes) and name != core.path.name:
            yield directory / name, ""


def _scan(path: Path, digest: str, cache: Path, *, scan: bool) -> IsaScan:
    """Return the cached scan of a file; if there is none or it is damaged, scan the file and cache the new scan."""
    from fastinstall.elf.isa.verdict import ALGORITHM, scan_isa  # imported late, while the subprocesses already run

    with suppress(OSError):
        digest = digest or files.sha256(path)
    place = cache / f"{digest}-{ALGORITHM}.json"
    kept = foreign.read_kept(IsaScan, _DOCUMENT, place) if digest else None
    if kept is not None and kept.sha256 == digest:
        return replace(kept, path=path)
    found = scan_isa(path, sha256=digest, decode=scan)
    if digest and not found.problem and found.confidence is not Confidence.UNVERIFIED:
        with suppress(OSError):
            files.write_text(place, dump(document(_DOCUMENT, found)), durable=False)
    return found
