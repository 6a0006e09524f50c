"""Who requires a distribution that we would replace.

A requirement is parsed only where its line begins with one of the names, and the `packaging` library
is loaded only where such a line has a marker: it would double the time that doctor takes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.model.facts import Dependant, Distribution, Interpreter
from fastinstall.probes.distributions import normalised, read_head

_EXTRA_ONLY = re.compile(r"""\(?\s*extra\s*==\s*(['"])[^'"]*\1\s*\)?""")


def observe_dependants(
    interpreter: Interpreter, replaces: tuple[str, ...], distributions: tuple[Distribution, ...]
) -> tuple[Dependant, ...]:
    """The distributions that require one of `replaces` on this interpreter, extras left out.

    Args:
        interpreter: the target's Python, for the environment markers.
        replaces: names of distributions, normalised.
        distributions: everything installed there.
    """
    pattern = _pattern(replaces)
    others = [distribution for distribution in distributions if distribution.name not in replaces]
    return tuple(
        Dependant(name=distribution.name, requirement=applicable, version=distribution.version)
        for distribution in others
        for requirement in _requirements(Path(interpreter.site_packages) / distribution.metadata, pattern)
        if (applicable := _applicable(requirement, interpreter))
    )


def _pattern(names: tuple[str, ...]) -> re.Pattern[bytes]:
    spellings = "|".join(r"[-_.]+".join(map(re.escape, normalised(name).split("-"))) for name in names)
    text = rf"^Requires-Dist:[ \t]*((?:{spellings})(?![A-Za-z0-9._-]).*?)[ \t\r]*$"
    return re.compile(text.encode(), re.IGNORECASE | re.MULTILINE)


def _requirements(metadata: Path, pattern: re.Pattern[bytes]) -> Iterator[str]:
    for line in pattern.findall(read_head(metadata)):
        yield line.decode("utf-8", "replace")


def _applicable(requirement: str, interpreter: Interpreter) -> str:
    """Return the requirement without its marker, or "" if the marker excludes this interpreter."""
    bare, semicolon, marker = (part.strip() for part in requirement.partition(";"))
    if not semicolon:
        return bare
    if _EXTRA_ONLY.fullmatch(marker) or not _holds(marker, interpreter):
        return ""
    return bare


def _holds(marker: str, interpreter: Interpreter) -> bool:
    """Whether a marker holds for the target; a malformed one counts as holding (it hides nothing)."""
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 (slow, and rarely needed)

    full = interpreter.version
    short = ".".join(full.split(".")[:2])
    target = {"python_version": short, "python_full_version": full, "implementation_version": full, "extra": ""}
    names = {"cpython": "CPython", "pypy": "PyPy"}
    target["implementation_name"] = interpreter.implementation
    target["platform_python_implementation"] = names.get(interpreter.implementation, interpreter.implementation)
    try:
        return Marker(marker).evaluate(target)
    except InvalidMarker:
        return True
