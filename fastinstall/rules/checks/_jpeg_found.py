"""The libjpeg of the core, for the check of it: the one that it loads or has inside, and what can be seen of it."""

from pathlib import PurePath

from fastinstall.model.core import Core, Library
from fastinstall.model.immutable import immutable
from fastinstall.model.linkage import MissingLibrary
from fastinstall.rules.checks._codecs import core_codec, reason_for, simulation
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._displaced import is_bundled
from fastinstall.rules.checks._mapped import mapped_files
from fastinstall.rules.checks._places import whose


@immutable
class Jpeg:
    """A libjpeg that is there.

    Attributes:
        library: what it is.
        path: the file that holds it.
        inside: whether that is the file of the core itself.
    """

    library: Library
    path: PurePath
    inside: bool


def missing_jpeg(context: CheckContext, core: Core) -> MissingLibrary | None:
    """The libjpeg whose absence keeps the core from being loaded."""
    linkage = simulation(context)
    if linkage is None:
        names = (library.soname for library in core.libraries if library.path is None)
        lacking = tuple(MissingLibrary(name=name, needed_by=core.path, problem="not found") for name in names)
    elif any(file.path == core.path for file in linkage.files):
        lacking = ()
    else:
        lacking = linkage.missing
    return next((missing for missing in lacking if _is_jpeg(missing.name)), None)


def jpeg_of_core(context: CheckContext, core: Core) -> Jpeg | None:
    """The libjpeg that the core is bound to, by the simulated process, else by what the core was found to need."""
    codec = core_codec(context, "jpeg")
    if codec is not None and codec.library.path is not None:
        return Jpeg(library=codec.library, path=codec.library.path, inside=codec.inside)
    for library in core.libraries:
        if _is_jpeg(library.soname) and library.path is not None:
            return Jpeg(library=library, path=library.path, inside=False)
    return None


def portray(context: CheckContext, jpeg: Jpeg) -> tuple[str, ...]:
    """What can be seen of it: where it is and why there, SIMD and interface, whose it is."""
    library = jpeg.library
    where = f"linked into {jpeg.path}" if jpeg.inside else f"{library.soname} resolves to {jpeg.path}"
    reason = "" if jpeg.inside else reason_for(context, jpeg.path)
    simd = {True: "with SIMD code", False: "without SIMD code", None: "SIMD code cannot be told"}[library.simd]
    abi = f", interface of libjpeg {library.abi[:-1]}.{library.abi[-1]}" if library.abi else ""
    mapped = ("mapped, as was seen in a process",) if jpeg.path in mapped_files(context) else ()
    by_whom = (f"it is {whose(context, jpeg.path)}",)
    return (f"{where}{f' ({reason})' if reason else ''}", f"{simd}{abi}", *by_whom, *mapped)


def _is_jpeg(name: str) -> bool:
    """Whether a library is named as libjpeg is, in a wheel too; libturbojpeg has another interface."""
    file = name.rpartition("/")[2]  # a library without a soname is asked for by the path that the linker was given
    return file.startswith("libjpeg.so") or (file.startswith("libjpeg-") and is_bundled(file))
