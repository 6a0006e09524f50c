"""Read the entries for PIL in pip's requirement and constraint files. Pure.

Continued lines and comments are parsed as by pip. Lines of `conda list --export`, whose output is often kept in a
requirements.txt, are parsed as by conda. Variables are not expanded, and entries are not judged here.
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
    """The parsed content of a requirement, lock or environment file.

    Attributes:
        entries: entries for distributions or conda packages that provide PIL.
        includes: included requirements files: number of the line, and path relative to the file's directory.
        links: directories and URLs of --find-links, as written.
        findings: lines that pip rejects, and includes that cannot be checked on this machine.
    """

    entries: tuple[LockEntry, ...] = ()
    includes: tuple[tuple[int, str], ...] = ()
    links: tuple[str, ...] = ()
    findings: tuple[LockFinding, ...] = ()


@immutable
class _Line:
    """A logical line: physical lines from `first` to `last`, joined as by pip, without comments."""

    text: str
    first: int
    last: int
    marker: str = ""
    hashes: tuple[str, ...] = ()


def read_requirements(text: str, file: PurePath) -> RequirementsFile:
    """Parse the content of a requirements file; `file` is its path, for findings."""
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
    """Return whether a path is a URL or contains a variable, so that it cannot be read on this machine."""
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
    """Yield logical lines, joined as by pip, without comments."""
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
    """Return a line with its requirement alone as text, without options; None if the line is an option."""
    text = line.text
    if text.startswith("-"):
        flag, text = _parse_option(line)
        if flag not in _EDITABLE:
            return None
    bare = _OPTIONS.split(text, maxsplit=1)[0].strip()
    subject, _, marker = bare.partition(" ;") if "://" in bare else bare.partition(";")
    return replace(line, text=subject.strip(), marker=marker.strip(), hashes=tuple(_HASH.findall(line.text)))


class _RefusedLineError(Exception):
    """pip rejects a requirement; the message says why."""


def _read_subject(line: _Line) -> Iterator[LockEntry]:
    """Yield an entry for a requirement if it is for a distribution that provides PIL.

    Raises:
        _RefusedLineError: pip rejects the requirement. One with a variable is never rejected here.
    """
    exported = _EXPORTED.fullmatch(line.text)
    version = source = build = ""
    if _is_place(line):
        source = line.text.partition("[")[0]
        egg = _EGG.search(line.text)
        name = egg[1] if egg is not None else archive(source)[0] or _name_repository(source)
        says = file_name(source) or source
    elif exported is not None:  # a line of `conda list --export`; pip's packages have the build pypi_0
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
    """Return name, exact version and URL of a requirement; version and URL are empty if it has none."""
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
    """Return the likely name of a distribution in a git repository: the last part of its URL; empty for other URLs."""
    return file_name(place).partition("@")[0].removesuffix(".git") if "git" in place else ""
