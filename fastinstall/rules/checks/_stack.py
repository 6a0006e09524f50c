"""What several checks read from a stack: whose core it is, and how to name an owner."""

import base64
import binascii
from collections.abc import Iterable

from fastinstall.model.core import Core
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts, Owner, Stack
from fastinstall.model.immutable import immutable


@immutable
class _OtherLibc:
    """What files for the other C library look like.

    Attributes:
        other: it, for people.
        tag: the end of the file names of its extension modules.
        soname: what its own begins with.
    """

    other: str
    tag: str
    soname: str

    def is_other(self, name: str) -> bool:
        return name.startswith(self.soname)


_LIBCS = {
    "glibc": _OtherLibc(other="musl (a musllinux wheel, as for Alpine Linux)", tag="musl", soname="libc.musl-"),
    "musl": _OtherLibc(other="glibc (a manylinux wheel)", tag="gnu", soname="libc.so.6"),
}
"""By the C library that a Python runs on."""


def describe(owner: Owner) -> str:
    """Name an owner for a person: "pillow 13.0.0, installed by pip at 2026-11-21T10:00:00+00:00"."""
    distribution = owner.distribution
    tool = distribution.installer or "a tool that left no name"
    when = f" at {owner.installed_at}" if owner.installed_at else ""
    return f"{distribution.name} {distribution.version}, installed by {tool}{when}"


def brought(owner: Owner, core: Core | None) -> bool:
    """Tell whether the core on disk is the one that this owner's RECORD lists."""
    if core is None or owner.recorded_core is None or not core.sha256:
        return False
    return _hexadecimal(owner.recorded_core) == core.sha256


def readable_core(stack: Stack) -> Core | None:
    """Give the core where its contents can be judged."""
    return stack.core if stack.core is not None and stack.core.readable else None


def is_whole_enough(stack: Stack) -> bool:
    """Whether there is more of PIL than a directory."""
    return stack.directory is not None and (stack.has_init or stack.core is not None)


def is_of_the_system(facts: Facts) -> bool:
    """Whether PIL is a package of the operating system.

    Those leave out RECORD, or all metadata, so that pip keeps its hands off (PEP 668). What conda marks so is conda's.
    """
    is_conda = facts.environment.kind is EnvironmentKind.CONDA
    managed = facts.interpreter.externally_managed is not None and not is_conda
    return managed and is_whole_enough(facts.stack) and not any(owner.has_record for owner in facts.stack.owners)


def why_no_stack(facts: Facts) -> str:
    """Say why there are no files of PIL to judge; an operating system keeps its own beside site-packages."""
    runtime = facts.runtime
    if runtime is not None and runtime.imported and facts.stack.directory is None:
        return f"PIL is imported from {runtime.location}, and only {facts.interpreter.site_packages} is looked into"
    return "there is no PIL in this environment"


def why_no_core(facts: Facts) -> str:
    """Say why there is no core to judge."""
    return why_no_stack(facts) if facts.stack.directory is None else "there is no readable imaging core"


def version_conflict(stack: Stack) -> str:
    """Say how the core and `PIL/_version.py` disagree; empty where they don't or cannot be compared."""
    compiled = stack.core.version if stack.core is not None else ""
    if not compiled or stack.version is None or compiled == stack.version:
        return ""
    return f"the core was built for {compiled}, PIL/_version.py says {stack.version}"


def other_libc(facts: Facts) -> str:
    """Say that the core is for the C library that this Python does not run on; empty where it is not."""
    stack, here = facts.stack, facts.interpreter.libc
    if here not in _LIBCS:
        return ""
    lost = (library.soname for library in stack.core.libraries if library.path is None) if stack.core else ()
    if not any(map(_LIBCS[here].is_other, lost)) and (
        stack.core or not names_of_other_libc(facts, stack.foreign_cores)
    ):
        return ""
    return f"the core was built for {_LIBCS[here].other}, and this Python runs on {here}"


def names_of_other_libc(facts: Facts, names: Iterable[str]) -> tuple[str, ...]:
    """Those of extension modules that are for this very Python, but for the other C library."""
    interpreter = facts.interpreter
    if interpreter.libc not in _LIBCS:
        return ()
    python = interpreter.extension_suffix.partition("-linux-")[0]
    return tuple(name for name in names if name.endswith(f"{python}-linux-{_LIBCS[interpreter.libc].tag}.so"))


def is_other_libc(facts: Facts, name: str) -> bool:
    """Whether a library that is asked for is the C library that this Python does not run on."""
    return facts.interpreter.libc in _LIBCS and _LIBCS[facts.interpreter.libc].is_other(name)


def minor(version: str) -> str:
    """The part of a Python version that its packages depend on: "3.11" of "3.11.7"."""
    return ".".join(version.split(".")[:2])


def _hexadecimal(recorded: str) -> str:
    """The digest of a RECORD line (URL-safe base64 without padding) in hexadecimal."""
    _algorithm, _, digest = recorded.partition("=")
    try:
        return base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""
