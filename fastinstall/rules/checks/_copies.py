"""What several checks read from a core of which a wheel holds one copy per CPU level."""

from pathlib import PurePath

from fastinstall.model.core import Core, CoreLevel


def loaded_copy(core: Core) -> CoreLevel | None:
    """Return the copy that the loader takes here, or None if it takes none."""
    return next((copy for copy in core.levels if copy.loaded), None)


def loaded_file(core: Core) -> PurePath:
    """Give the file that holds the code that runs here: the copy that the loader takes, or the core itself."""
    copy = loaded_copy(core)
    return copy.path if copy is not None else core.path


def loaded_name(core: Core | None) -> str:
    """Name the copy that the loader takes here; empty where there is none."""
    copy = loaded_copy(core) if core is not None else None
    return called(core, copy) if core is not None and copy is not None else ""


def called(core: Core, copy: CoreLevel) -> str:
    """Name a copy for a person: "the copy for x86-64-v3", "the baseline (x86-64-v2)"."""
    if copy != core.levels[0]:
        return f"the copy for {copy.level}"
    return f"the baseline ({copy.isa_note})" if copy.isa_note else "the baseline"


def whole_copies(core: Core) -> tuple[CoreLevel, ...]:
    """Give the copies that can be judged: neither missing nor damaged, nor another library."""
    return tuple(copy for copy in core.levels if not copy.problem)


def portrait(core: Core | None) -> tuple[str, ...]:
    """List the copies as evidence, one line each."""
    if core is None:
        return ()
    return tuple(f"{called(core, copy)}{', loaded here' if copy.loaded else ''}: {copy.path}" for copy in core.levels)
