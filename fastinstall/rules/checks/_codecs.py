"""What stands behind PIL's codecs, as the simulated process has it: which library, why that one, for whom."""

from collections.abc import Iterable
from pathlib import PurePath

from fastinstall.model.core import Library
from fastinstall.model.linkage import Codec, Linkage
from fastinstall.rules.checks._context import CheckContext


def simulation(context: CheckContext) -> Linkage | None:
    """Return the simulated process, or None if it is missing or never reached PIL's modules."""
    linkage = context.facts.linkage
    return linkage if linkage is not None and not linkage.problem and linkage.modules else None


def no_simulation(context: CheckContext) -> str:
    """Say why there is no simulated process."""
    linkage = context.facts.linkage
    problem = linkage.problem if linkage is not None else ""
    return f"what would be loaded was not followed through: {problem or 'it was not asked for'}"


def code_files(context: CheckContext) -> frozenset[PurePath]:
    """Give the files that hold the core's code here: the core, and the copy that the loader takes in its place."""
    core = context.facts.stack.core
    if core is None:
        return frozenset()
    return frozenset({core.path, *(copy.path for copy in core.levels if copy.loaded)})


def codecs_of(context: CheckContext, kind: str) -> tuple[Codec, ...]:
    """Give the libraries of a kind ("jpeg") in the simulated process, each file once."""
    linkage = simulation(context)
    of_kind = (codec for codec in linkage.codecs if codec.kind == kind) if linkage is not None else ()
    return tuple({codec.library.path: codec for codec in of_kind}.values())


def codec_in_use(context: CheckContext, kind: str) -> Codec | None:
    """Give the library of a kind that PIL's own code is bound to: the core before the other modules."""
    linkage, codecs = simulation(context), codecs_of(context, kind)
    modules = linkage.modules if linkage is not None else ()
    return _used_by(code_files(context), codecs) or _used_by(modules, codecs)


def core_codec(context: CheckContext, kind: str) -> Codec | None:
    """Give the library of a kind that the core is bound to, or has inside."""
    return _used_by(code_files(context), codecs_of(context, kind))


def reason_for(context: CheckContext, path: PurePath | None) -> str:
    """Say why the loader takes this file: "DT_RUNPATH of /a/b.so"; empty if that is unknown."""
    linkage = simulation(context)
    files = linkage.files if linkage is not None else ()
    return next((file.reason for file in files if file.path == path), "")


def claimed_features(context: CheckContext) -> dict[str, str]:
    """What `PIL.features` says of the core in place: asked now, else at its setup; empty where neither is known."""
    if context.facts.runtime is not None:
        return context.facts.runtime.features
    return context.receipt.features if context.receipt is not None and context.core_is_ours else {}


def called(library: Library) -> str:
    """Name a library for a person: "libjpeg-turbo 3.1.3", by its soname where it was not identified."""
    name = library.implementation or library.soname or (library.path.name if library.path is not None else "")
    return f"{name} {library.version}".rstrip()


def _used_by(files: Iterable[PurePath], codecs: Iterable[Codec]) -> Codec | None:
    mine = frozenset(files)
    return next((codec for codec in codecs if mine & {*codec.users, *_holder(codec)}), None)


def _holder(codec: Codec) -> tuple[PurePath, ...]:
    return (codec.library.path,) if codec.inside and codec.library.path is not None else ()
