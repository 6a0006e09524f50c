"""Reads pip's requirement and constraint files, as far as PIL is concerned. Pure.

Continued lines and comments are taken as pip's parser takes them, and lines of `conda list --export`, which people keep
under the same name, as conda does. What can be installed is not decided here, and variables are not expanded.
Source: pip's documentation, "Requirements File Format".
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.lockcheck.locked_names import archive, file_name
from fastinstall.lockcheck.verdict import LockEntry, LockFinding
from fastinstall.model.finding import Remedy, Status
from fastinstall.model.recipe import PROVIDERS

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(--[a-z-]+|-[a-zA-Z])(?:[=\s]\s*|(?<=^-[a-zA-Z]))(.*)")
_VARIABLE = re.compile(r"\$\{\w+\}")
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
class RequirementsFile:
    """What a file says.

    Attributes:
        entries: that name what provides PIL.
        includes: further files of the same format: line, and path relative to the file's directory.
        links: where wheels are looked for besides an index, as it is written.
        findings: lines that are neither a requirement nor an option, and includes that cannot be looked at from here.
    """

    entries: tuple[LockEntry, ...] = ()
    includes: tuple[tuple[int, str], ...] = ()
    links: tuple[str, ...] = ()
    findings: tuple[LockFinding, ...] = ()


@immutable
class _Line:
    """What pip takes for one line: from the first physical one to the last, without comments."""

    text: str
    first: int
    last: int
    marker: str = ""
    hashes: tuple[str, ...] = ()


def read_requirements(text: str, file: PurePath) -> RequirementsFile:
    """Read a file's content."""
    lines = [line for line in _join_lines(text) if line.text]
    options = [(line, *_parse_option(line)) for line in lines if line.text.startswith("-")]
    includes = [(line.first, value) for line, flag, value in options if flag in _INCLUDES]
    entries: list[LockEntry] = []
    findings: list[LockFinding] = []
    for subject in filter(None, map(_parse_subject, lines)):
        try:
            entries += _read_subject(subject)
        except _RefusedLineError as error:
            findings.append(_report_refused(file, subject, str(error)))
    return RequirementsFile(
        entries=tuple(entries),
        includes=tuple((line, place) for line, place in includes if not is_afar(place)),
        links=tuple(value for _, flag, value in options if flag in _LINKS),
        findings=(*findings, *(_report_unseen(file, line, place) for line, place in includes if is_afar(place))),
    )


def is_afar(place: str) -> bool:
    """Tell whether a place is a URL or has a variable, so that it is no path on this machine."""
    return "://" in place or "${" in place


def _report_refused(file: PurePath, line: "_Line", problem: str) -> LockFinding:
    return LockFinding(
        file=file,
        line=line.first,
        excerpt=line.text[:60],
        status=Status.ERROR,
        message=f"pip rejects the file because of this line: {problem}",
        remedy=Remedy(text="write NAME, NAME==VERSION or NAME @ URL there, or remove the line"),
    )


def _report_unseen(file: PurePath, line: int, place: str) -> LockFinding:
    return LockFinding(
        file=file,
        line=line,
        excerpt=place,
        status=Status.HINT,
        message="the file it includes from there was not checked",
        remedy=Remedy(text="check a local copy of it too"),
    )


def _join_lines(text: str) -> Iterator[_Line]:
    """Yield lines as pip joins them, without comments."""
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
    """Parse what a line asks for, apart from its options; None of one that is an option itself."""
    text = line.text
    if text.startswith("-"):
        flag, text = _parse_option(line)
        if flag not in _EDITABLE:
            return None
    bare = _OPTIONS.split(text, maxsplit=1)[0].strip()
    subject, _, marker = bare.partition(" ;") if "://" in bare else bare.partition(";")
    return replace(line, text=subject.strip(), marker=marker.strip(), hashes=tuple(_HASH.findall(line.text)))


class _RefusedLineError(Exception):
    """What pip's own parser finds wrong with a requirement."""


def _read_subject(line: _Line) -> Iterator[LockEntry]:
    """Yield what a requirement says, where it has to do with PIL.

    Raises:
        _RefusedLineError: pip could not read it. What a variable holds is left to pip.
    """
    exported = _EXPORTED.fullmatch(line.text)
    version = source = build = ""
    if _is_place(line):
        source = line.text.partition("[")[0]
        egg = _EGG.search(line.text)
        name = egg[1] if egg is not None else archive(source)[0] or _name_repository(source)
        says = file_name(source) or source
    elif exported is not None:  # a line of conda's; what it says to be pip's is a requirement all the same
        name, version, says = exported["name"], exported["version"], line.text
        build = exported["build"] if exported["build"] != _OF_PIP else ""
    else:
        name, version, source = _parse_requirement(line)
        says = f"{name} @ {file_name(source) or source}" if source else line.text
    if normalise_distribution_name(name) in PROVIDERS:
        yield LockEntry(
            name=normalise_distribution_name(name),
            excerpt=says,
            line=line.first,
            last=line.last,
            version=version,
            source=source,
            build=build,
            is_conda=bool(build),
            hashes=line.hashes,
            marker=line.marker,
        )


def _is_place(line: _Line) -> bool:
    return _PLACE.search(line.text) is not None and "@ " not in line.text


def _parse_requirement(line: _Line) -> tuple[str, str, str]:
    """Return the name, the one version that is allowed, and the URL; the latter are empty where there is none."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (slow, and not always needed)

    written = f"{line.text} ; {line.marker}" if line.marker else line.text
    text = _VARIABLE.sub("0", written)
    try:
        required = Requirement(text)
    except InvalidRequirement as error:
        if text != written:
            return "", "", ""
        raise _RefusedLineError(str(error).partition("\n")[0].rstrip(": ") or "no requirement") from None
    exact = [each.version for each in required.specifier if each.operator in ("==", "===")]
    is_exact = len(required.specifier) == 1 and text == written and exact and not exact[0].endswith(".*")
    return required.name, exact[0] if is_exact else "", required.url or ""


def _name_repository(place: str) -> str:
    """Name a checkout by the last part of its address: nothing else tells its name."""
    return file_name(place).partition("@")[0].removesuffix(".git") if "git" in place else ""
