"""Whether a library was found at a place where it should not be, for the check that libraries resolve."""

from pathlib import PurePath

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.immutable import immutable
from fastinstall.model.linkage import Linkage, LoadedFile
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._places import Place, place_of

_RUNTIMES = frozenset(
    ("c", "m", "dl", "rt", "util", "pthread", "resolv", "nsl", "anl", "mvec", "crypt", "gcc_s", "stdc++")
)
"""The C library's own files, and what compilers bring, without "lib": one of each for all processes."""
_PROMISED = frozenset(
    ("z", "expat", "atomic", "X11", "Xext", "Xrender", "ICE", "SM", "GL", "glib-2.0", "gobject-2.0", "gthread-2.0")
)
"""What a manylinux wheel may leave to the system, beside those (PEP 600; auditwheel's policies)."""
_DIGEST = 8


@immutable
class Displacement:
    """What is wrong with the place of a library.

    Attributes:
        message: what follows the library's name in a sentence.
        expected: where it should be.
    """

    message: str
    expected: str


def displacement(context: CheckContext, linkage: Linkage, file: LoadedFile) -> Displacement | None:
    """Explain why a file should not come from its place, or return None if it may.

    What the interpreter itself and LD_PRELOAD bring, and the files of the C library, may come from anywhere.
    """
    if _is_given(linkage, file):
        return None
    facts, place = context.facts, place_of(context, file.path)
    if is_bundled(file.name.rpartition("/")[2]) and place is not Place.PACKAGES:
        where = f"below {facts.interpreter.site_packages}"
        return Displacement(message="was bundled with the wheel, and is taken from elsewhere", expected=where)
    if place is Place.OTHER_ENVIRONMENT:
        return Displacement(message="comes out of another environment", expected=_inside(context))
    outside = place in {Place.SYSTEM, Place.ELSEWHERE} and not _is_left_to_the_system(linkage, file)
    if facts.environment.kind is EnvironmentKind.CONDA and outside:
        return Displacement(message="comes from outside this conda environment", expected=_inside(context))
    return None


def is_of_the_interpreter(context: CheckContext, name: str, path: PurePath | None) -> bool:
    """Whether a library that wheels leave to the system is this environment's own.

    The interpreter's modules have brought it by then: its `zlib` module loads conda's libz before PIL's core asks for
    one. Without them the loader would take the system's; either will do.
    """
    return path is not None and _stem(name) in _PROMISED and place_of(context, path) is Place.ENVIRONMENT


def is_bundled(name: str) -> bool:
    """Whether a library's name is as auditwheel gives it to what it puts into a wheel: "libjpeg-0d45d2bd.so.62"."""
    stem, dash, digest = _stem(name).rpartition("-")
    return bool(stem and dash) and len(digest) >= _DIGEST and set(digest) <= set("0123456789abcdef")


def is_by_variable(file: LoadedFile) -> bool:
    """Whether LD_LIBRARY_PATH or LD_PRELOAD of the shell made the loader take this file."""
    return file.reason.startswith(("LD_LIBRARY_PATH", "LD_PRELOAD"))


def _inside(context: CheckContext) -> str:
    return f"below {context.facts.environment.prefix}"


def _is_given(linkage: Linkage, file: LoadedFile) -> bool:
    name = file.name.rpartition("/")[2]
    is_runtime = name.startswith(("ld-linux", "ld-musl", "libc.musl")) or _stem(name) in _RUNTIMES
    return file.path in linkage.modules or is_runtime or not _is_of_modules(linkage, file)


def _is_left_to_the_system(linkage: Linkage, file: LoadedFile) -> bool:
    """Whether a wheel that brings its other libraries along takes this one from wherever it runs."""
    is_wheel = any(is_bundled(known.path.name) for known in linkage.files)
    return is_wheel and _stem(file.name.rpartition("/")[2]) in _PROMISED


def _stem(name: str) -> str:
    """The name alone: "jpeg" of "libjpeg.so.62"."""
    return name.partition(".so")[0].removeprefix("lib")


def _is_of_modules(linkage: Linkage, file: LoadedFile) -> bool:
    """Whether one of PIL's modules asked for it, or what they asked for; not the program, nor LD_PRELOAD."""
    askers = {known.path: known.needed_by for known in linkage.files}
    path: PurePath | None = file.path
    for _ in linkage.files:
        if path is None or path in linkage.modules:
            break
        path = askers.get(path)
    return path in linkage.modules
