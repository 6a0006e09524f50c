"""Reads pip's requirement and constraint files, as far as PIL is concerned. Pure.

Continued lines and comments are taken as pip's parser takes them, and lines of `conda list --export`, which people keep
under the same name, as conda does. What can be installed is not decided here, and variables are not expanded.
Source: pip's documentation, "Requirements File Format".
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from fastinstall.core.values import immutable
from fastinstall.lockcheck.verdict import LockEntry, archive, file_name, normalise_locked_name
from fastinstall.model.recipe import PROVIDERS

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(--[a-z-]+|-[a-zA-Z])(?:[=\s]\s*|(?<=^-[a-zA-Z]))(.*)")
_REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^]]*\])?\s*(.*)", re.DOTALL)
_EXACT = re.compile(r"\(?\s*={2,3}\s*([^\s,;()]+)\s*,?\s*\)?")
_HASH = re.compile(r"--hash[=\s]\s*(\w+:[0-9A-Fa-f]+)")
_EGG = re.compile(r"#(?:.*&)?egg=([\w.-]+)")
_PLACE = re.compile(
    r"^[\w+.-]+://|^file:|^\.{1,2}(/|\[|$)|^/|^~/|^[\w.@+-]+/|\.(whl|tar\.gz|zip|tar\.bz2)(\[[^]]*\])?$"
)
_EXPORTED = re.compile(r"(?P<name>[\w.-]+)=(?P<version>[^=\s<>!~]+)=(?P<build>[^=\s]+)")
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
class Refused:
    """A line for which pip refuses the whole file.

    Attributes:
        line: where it begins, from 1.
        says: the line, shortened.
        problem: what is wrong with it.
    """

    line: int
    says: str
    problem: str


@immutable
class RequirementsFile:
    """What a file says.

    Attributes:
        entries: that name what provides PIL.
        includes: further files of the same format.
        links: where wheels are looked for besides an index, as it is written.
        refused: lines that are neither a requirement nor an option.
    """

    entries: tuple[LockEntry, ...] = ()
    includes: tuple[Include, ...] = ()
    links: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


@immutable
class _Line:
    """What pip takes for one line: from the first physical one to the last, without comments."""

    text: str
    first: int
    last: int
    marker: str = ""
    hashes: tuple[str, ...] = ()


def read_requirements(text: str) -> RequirementsFile:
    """Read a file's content."""
    lines = [line for line in _join_lines(text) if line.text]
    options = [(line, _parse_option(line)) for line in lines if line.text.startswith("-")]
    subjects = [subject for line in lines if (subject := _parse_subject(line)) is not None]
    refused = {subject.first: each for subject in subjects if (each := _find_refusal(subject)) is not None}
    entries = (_parse_entry(subject) for subject in subjects if subject.first not in refused)
    return RequirementsFile(
        entries=tuple(entry for entry in entries if entry is not None),
        includes=tuple(Include(place=value, line=line.first) for line, (flag, value) in options if flag in _INCLUDES),
        links=tuple(value for _, (flag, value) in options if flag in _LINKS),
        refused=tuple(refused.values()),
    )


def find_exact_version(clauses: str) -> str:
    """The one version that specifiers allow: "13.0.0" of "==13.0.0"; empty if they allow several."""
    found = _EXACT.fullmatch(clauses.strip())
    return found[1] if found is not None and not found[1].endswith(".*") else ""


def _join_lines(text: str) -> Iterator[_Line]:
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


def _parse_option(line: _Line) -> tuple[str, str]:
    found = _OPTION.fullmatch(line.text)
    return (found[1], found[2].strip().strip("'\"")) if found is not None else (line.text, "")


def _parse_subject(line: _Line) -> _Line | None:
    """What a line asks for, apart from its options; None of one that is an option itself."""
    text = line.text
    if text.startswith("-"):
        flag, text = _parse_option(line)
        if flag not in _EDITABLE:
            return None
    bare = _OPTIONS.split(text, maxsplit=1)[0].strip()
    subject, _, marker = bare.partition(" ;") if "://" in bare else bare.partition(";")
    return replace(line, text=subject.strip(), marker=marker.strip(), hashes=tuple(_HASH.findall(line.text)))


def _find_refusal(line: _Line) -> Refused | None:
    """What pip's own parser finds wrong with a requirement; places, and what variables stand in, are left to pip."""
    if _is_place(line) or "${" in f"{line.text}{line.marker}" or _EXPORTED.fullmatch(line.text):
        return None
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (slow, and not always needed)

    try:
        Requirement(f"{line.text} ; {line.marker}" if line.marker else line.text)
    except InvalidRequirement as error:
        problem = next(iter(str(error).splitlines()), "").rstrip(": ")
        return Refused(line=line.first, says=line.text[:60], problem=problem)
    return None


def _is_place(line: _Line) -> bool:
    return _PLACE.search(line.text) is not None and "@ " not in line.text


def _parse_entry(line: _Line) -> LockEntry | None:
    return _from_place(line) if _is_place(line) else _from_name(line)


def _from_place(line: _Line) -> LockEntry | None:
    place = line.text.partition("[")[0]
    egg = _EGG.search(line.text)
    name = normalise_locked_name(egg[1]) if egg is not None else archive(place)[0] or _name_repository(place)
    return _make_entry(line, name, file_name(place) or place, source=place)


def _name_repository(place: str) -> str:
    """Of a checkout nothing tells the name but the last part of its address."""
    return normalise_locked_name(file_name(place).partition("@")[0].removesuffix(".git")) if "git" in place else ""


def _from_name(line: _Line) -> LockEntry | None:
    exported = _EXPORTED.fullmatch(line.text)
    if exported is not None:
        return _from_export(line, exported)
    found = _REQUIREMENT.fullmatch(line.text)
    if found is None:
        return None
    name, rest = normalise_locked_name(found[1]), found[3].strip()
    if rest.startswith("@"):
        source = rest.removeprefix("@").strip()
        return _make_entry(line, name, f"{found[1]} @ {file_name(source) or source}", source=source)
    return _make_entry(line, name, f"{found[1]}{found[2] or ''}{rest}", version=find_exact_version(rest))


def _from_export(line: _Line, found: re.Match[str]) -> LockEntry | None:
    """A line of conda's; what it says to be pip's is a requirement all the same."""
    made = _make_entry(line, normalise_locked_name(found["name"]), line.text, version=found["version"])
    return made if made is None or found["build"] == _OF_PIP else replace(made, build=found["build"], is_conda=True)


def _make_entry(line: _Line, name: str, says: str, *, version: str = "", source: str = "") -> LockEntry | None:
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
