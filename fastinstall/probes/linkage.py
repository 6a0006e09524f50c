"""What a process of the target that imports PIL would load; from files alone, nothing is imported."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from fastinstall.binary.dynamic import ElfError
from fastinstall.binary.linkage import read_linkage
from fastinstall.binary.loader import ProcessSettings
from fastinstall.model.facts import Interpreter, Stack
from fastinstall.model.linkage import Linkage
from fastinstall.probes.stack import Loader

_CORE = "_imaging"


def observe_linkage(interpreter: Interpreter, stack: Stack, loader: Loader) -> Linkage:
    """Simulate a process of the interpreter that opens PIL's extension modules, the core first.

    Args:
        interpreter: the target's Python.
        stack: PIL as it lies there.
        loader: what the dynamic loader goes by, beside the files.

    Returns:
        A linkage with nothing but a `problem` where the interpreter is none that the loader begins (a script, a
        static program), or cannot be read; one without modules where there is no PIL.
    """
    modules = tuple(_modules(stack.directory, interpreter.extension_suffix)) if stack.directory is not None else ()
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


def _modules(directory: PurePath, extension_suffix: str) -> Iterator[Path]:
    """The files that `import PIL.NAME` would take, by the order of the import system's suffixes."""
    found: dict[str, Path] = {}
    names = _names(directory)
    for suffix in (extension_suffix, ".abi3.so", ".so"):
        for name in names:
            module = name.removesuffix(suffix)
            if module != name and "." not in module:
                found.setdefault(module, Path(directory, name))
    yield from (found[module] for module in sorted(found, key=lambda module: (module != _CORE, module)))


def _names(directory: PurePath) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in Path(directory).iterdir()))
    except OSError:
        return ()
