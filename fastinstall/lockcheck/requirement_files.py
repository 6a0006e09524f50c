"""Read the entries for PIL in pip's requirement and constraint files. Pure.

Continued lines and comments are parsed as by pip. Lines of `conda list --export`, whose output is often kept in a
requirements.txt, are parsed as by conda. Variables are not expanded, and entries are not judged here.
Source: pip's documentation, "Requirements File Format".
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.lockcheck.lock_names import archive, file_name
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


def read_requirements(text: str, file: PurePath) -> RequirementsFile:
    """Parse the content of a requirements file; `file` is its path, for findings."""
    entries: list[LockEntry] = []
    includes: list[tuple[int, str]] = []
    links: list[str] = []
    refused: list[LockFinding] = []
    unseen: list[LockFinding] = []
    for line in (each for each in _join_lines(text) if each.text):
        flag, value = _split_option(line.text)
        if flag in _LINKS:
            links.append(value)
        elif flag in _INCLUDES and not is_afar(value):
            includes.append((line.first, value))
        elif flag in _INCLUDES:
            message = "the file it includes from there was not checked"
            remedy = Remedy(text="check a local copy of it too")
            unseen.append(_make_finding(file, line, value, Status.HINT, message, remedy))
        elif not flag or flag in _EDITABLE:
            subject, marker = _split_marker(value)
            try:
                entries += _read_subject(line, subject, marker)
            except ValueError as error:
                message = f"pip rejects the file because of this line: {error}"
                remedy = Remedy(text="write NAME, NAME==VERSION or NAME @ URL there, or remove the line")
                refused.append(_make_finding(file, line, subject[:60], Status.ERROR, message, remedy))
    return RequirementsFile(
        entries=tuple(entries), includes=tuple(includes), links=tuple(links), findings=(*refused, *unseen)
    )


def is_afar(place: str) -> bool:
    """Return whether a path is a URL or contains a variable, so that it cannot be read on this machine."""
    return "://" in place or "${" in place


def _make_finding(
    file: PurePath, line: _Line, excerpt: str, status: Status, message: str, remedy: Remedy
) -> LockFinding:
    return LockFinding(file=file, line=line.first, excerpt=excerpt, status=status, message=message, remedy=remedy)


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


def _split_option(text: str) -> tuple[str, str]:
    """Return the option that a line begins with, and its value; for other lines, an empty text and the line."""
    found = _OPTION.fullmatch(text) if text.startswith("-") else None
    if found is not None:
        return found[1], found[2].strip().strip("'\"")
    return (text, "") if text.startswith("-") else ("", text)


def _split_marker(text: str) -> tuple[str, str]:
    """Return a requirement without its options and marker, and the marker; the options are dropped."""
    bare = _OPTIONS.split(text, maxsplit=1)[0].strip()
    subject, _, marker = bare.partition(" ;") if "://" in bare else bare.partition(";")
    return subject.strip(), marker.strip()


def _read_subject(line: _Line, text: str, marker: str) -> Iterator[LockEntry]:
    """Yield an entry for a requirement if it is for a distribution that provides PIL.

    Args:
        line: the line of the requirement, which may have hashes.
        text: the requirement, without options and marker.
        marker: its marker; empty if it has none.

    Raises:
        ValueError: pip rejects the requirement. A requirement with a variable is never rejected here.
    """
    exported = _EXPORTED.fullmatch(text)
    version = source = build = ""
    if _PLACE.search(text) is not None and "@ " not in text:
        source = text.partition("[")[0]
        egg, last = _EGG.search(text), file_name(source)
        # the last part of a git repository's URL is probably the distribution's name
        repository = last.partition("@")[0].removesuffix(".git") if "git" in source else ""
        name = egg[1] if egg is not None else archive(source)[0] or repository
        says = last or source
    elif exported is not None:  # a line of `conda list --export`; pip's packages have the build pypi_0
        name, version, says = exported["name"], exported["version"], text
        build = exported["build"] if exported["build"] != "pypi_0" else ""
    else:
        name, version, source = _parse_requirement(text, marker)
        says = f"{name} @ {file_name(source) or source}" if source else text
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
            hashes=tuple(_HASH.findall(line.text)),
            marker=marker,
        )


def _parse_requirement(subject: str, marker: str) -> tuple[str, str, str]:
    """Return name, exact version and URL of a requirement; a part that the requirement lacks is empty.

    Raises:
        ValueError: pip rejects the requirement; the message says why.
    """
    from packaging.requirements import InvalidRequirement, Requirement  # slow to import, and not always needed

    written = f"{subject} ; {marker}" if marker else subject
    text = _VARIABLE.sub("0", written)
    try:
        required = Requirement(text)
    except InvalidRequirement as error:
        if text != written:
            return "", "", ""
        raise ValueError(str(error).partition("\n")[0].rstrip(": ") or "no requirement") from None
    exact = [each.version for each in required.specifier if each.operator in ("==", "===")]
    is_exact = len(required.specifier) == 1 and text == written and exact and not exact[0].endswith(".*")
    return required.name, exact[0] if is_exact else "", required.url or ""
