"""Reads pip's requirement and constraint files, as far as PIL is concerned. Pure.

Continued lines and comments are taken as pip's parser takes them, and lines of `conda list --export`, which people keep
under the same name, as conda does. What can be installed is not decided here, and variables are not expanded.
Source: pip's documentation, "Requirements File Format".
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.immutable import immutable
from fastinstall.model.locks import LockEntry
from fastinstall.rules.locks.names import PROVIDERS, archive, file_name, normalised

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(--[a-z-]+|-[a-zA-Z])(?:[=\s]\s*|(?<=^-[a-zA-Z]))(.*)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^]]*\])?\s*(.*)", re.DOTALL)
_CLAUSE = r"(?:===|~=|==|!=|<=|>=|<|>)\s*\w[^\s,;()]*"
_CLAUSES = re.compile(rf"\(?\s*(?:{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*,?)?\s*\)?")
_EXACT = re.compile(r"\(?\s*={2,3}\s*([^\s,;()]+)\s*,?\s*\)?")
_HASH = re.compile(r"--hash[=\s]\s*(\w+:[0-9A-Fa-f]+)")
_EGG = re.compile(r"#(?:.*&)?egg=([\w.-]+)")
_PLACE = re.compile(
    r"^[\w+.-]+://|^file:|^\.{1,2}(/|\[|$)|^/|^~/|^[\w.@+-]+/|\.(whl|tar\.gz|zip|tar\.bz2)(\[[^]]*\])?$"
)
_EXPORTED = re.compile(r"(?P<name>[\w.-]+)=(?P<version>[^=\s]+)(?:=(?P<build>[^=\s]+))?")
_OF_PIP = "pypi_0"
_OPTIONS = re.compile(r"\s+--?[a-z]")
_INCLUDES = ("-r", "--requirement", "-c", "--constraint")
_LINKS = ("-f", "--find-links")
_EDITABLE = ("-e", "--editable")


@immutable
class Include:
    """Another file that is read with one.

    Attributes:
        place: as it is written: a path relative to the file's directory, or a URL.
        line: where, from 1.
    """

    place: str
    line: int


@immutable
class Requirements:
    """What a file says.

    Attributes:
        entries: that name what provides PIL.
        includes: further files of the same format.
        links: where wheels are looked for besides an index, as it is written.
    """

    entries: tuple[LockEntry, ...] = ()
    includes: tuple[Include, ...] = ()
    links: tuple[str, ...] = ()


@immutable
class _Line:
    """What pip takes for one line: from the first physical one to the last, without comments."""

    text: str
    first: int
    last: int
    marker: str = ""
    hashes: tuple[str, ...] = ()


def read_requirements(text: str, file: PurePath) -> Requirements:
    """Read a file.

    Args:
        text: its content.
        file: for messages.

    Raises:
        DocumentError: a line that is neither a requirement nor an option; it is named.
    """
    lines = [line for line in _logical(text) if line.text]
    options = [(line, _option(line)) for line in lines if line.text.startswith("-")]
    return Requirements(
        entries=tuple(entry for line in lines if (entry := _entry(line, file)) is not None),
        includes=tuple(Include(place=value, line=line.first) for line, (flag, value) in options if flag in _INCLUDES),
        links=tuple(value for _, (flag, value) in options if flag in _LINKS),
    )


def requirement(text: str, line: int, file: PurePath) -> LockEntry | None:
    """Read one requirement, as lists of other formats have them; None where it has nothing to do with PIL.

    Raises:
        DocumentError: it is none.
    """
    return _entry(_Line(text=text, first=line, last=line), file)


def exact_version(clauses: str) -> str:
    """The one version that specifiers allow: "13.0.0" of "==13.0.0"; empty where they allow several."""
    found = _EXACT.fullmatch(clauses.strip())
    return found[1] if found is not None and not found[1].endswith(".*") else ""


def _logical(text: str) -> Iterator[_Line]:
    """Lines as pip joins them, without comments."""
    parts: list[str] = []
    first = 1
    for number, physical in enumerate(text.splitlines(), start=1):
        first = first if parts else number
        comment = _COMMENT.match(physical)
        if physical.endswith("\\") and comment is None:
            parts.append(physical.rstrip("\\"))
            continue
        parts.append(f" {physical}" if comment is not None else physical)
        yield _Line(text=_COMMENT.sub("", "".join(parts)).strip(), first=first, last=number)
        parts = []
    if parts:
        yield _Line(text="".join(parts).strip(), first=first, last=len(text.splitlines()))


def _option(line: _Line) -> tuple[str, str]:
    found = _OPTION.fullmatch(line.text)
    return (found[1], found[2].strip().strip("'\"")) if found is not None else (line.text, "")


def _entry(line: _Line, file: PurePath) -> LockEntry | None:
    text = line.text
    if text.startswith("-"):
        flag, text = _option(line)
        if flag not in _EDITABLE:
            return None
    bare = _OPTIONS.split(text, maxsplit=1)[0].strip()
    subject, _, marker = bare.partition(" ;") if "://" in bare else bare.partition(";")
    hashes = tuple(_HASH.findall(line.text))
    subjected = replace(line, text=subject.strip(), marker=marker.strip(), hashes=hashes)
    if _PLACE.search(subjected.text) and "@ " not in subject:
        return _from_place(subjected)
    return _from_name(subjected, file)


def _from_place(line: _Line) -> LockEntry | None:
    place = line.text.partition("[")[0]
    egg = _EGG.search(line.text)
    name = normalised(egg[1]) if egg is not None else archive(place)[0] or _of_repository(place)
    return _made(line, name, file_name(place) or place, source=place)


def _of_repository(place: str) -> str:
    """Of a checkout nothing tells the name but the last part of its address."""
    return normalised(file_name(place).partition("@")[0].removesuffix(".git")) if "git" in place else ""


def _from_name(line: _Line, file: PurePath) -> LockEntry | None:
    exported = _EXPORTED.fullmatch(line.text)
    if exported is not None:
        return _from_export(line, exported)
    found = _REQUIREMENT.fullmatch(line.text)
    if "${" in line.text:
        return None
    if found is None or not (found[3].startswith("@") or _CLAUSES.fullmatch(found[3])):
        raise DocumentError(file, f"line {line.first}", f"{line.text[:60]!r} is no requirement")
    name, rest = normalised(found[1]), found[3].strip()
    if rest.startswith("@"):
        source = rest.removeprefix("@").strip()
        return _made(line, name, f"{found[1]} @ {file_name(source) or source}", source=source)
    return _made(line, name, f"{found[1]}{found[2] or ''}{rest}", version=exact_version(rest))


def _from_export(line: _Line, found: re.Match[str]) -> LockEntry | None:
    """A line of conda's; what it says to be pip's is a requirement all the same."""
    made = _made(line, normalised(found["name"]), line.text, version=found["version"])
    build = found["build"] or ""
    return made if made is None or build == _OF_PIP else replace(made, build=build, is_conda=True)


def _made(line: _Line, name: str, says: str, *, version: str = "", source: str = "") -> LockEntry | None:
    """The entry, where it has to do with PIL."""
    if name not in PROVIDERS:
        return None
    return LockEntry(
        name=name,
        says=says,
        line=line.first,
        first=line.first,
        last=line.last,
        version=version,
        source=source,
        hashes=line.hashes,
        marker=line.marker,
    )
