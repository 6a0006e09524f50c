"""Write and read the texts of pin files, which make pip and uv keep the Pillow in a virtual environment. Pure.

A constraint alone does harm: if a resolver does not find the pinned wheel, it tries older and older versions of the
packages that require Pillow, until it finds versions that do not require it. Therefore a pin always has both a
constraint and the wheel. Sources of the formats: pip's "Configuration" and "Constraints Files", uv's "Environment
variables".
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.file_url import file_url
from fastinstall.core.messages import quote

DIRECTORY = "share/fastinstall/pin"
"""Directory of all files of a pin except pip's configuration; relative to the prefix, as are the paths below."""

WHEELS = f"{DIRECTORY}/wheels"
CONSTRAINTS = f"{DIRECTORY}/constraints.txt"
ENVIRONMENT = f"{DIRECTORY}/environment.sh"
CONFIGURATION = "pip.conf"
SECTION = "install"
"""Section that only `pip install` reads. `pip download` and `pip wheel` do not: they may be for other environments."""

LINKS, CONSTRAINT = "find-links", "constraint"

_OPENING = "# >>> fastinstall pin: blocks every other Pillow, including security updates"
_TELLING = "# `fastinstall guard remove` removes these lines; put yours below them, under their own [section]"
_CLOSING = "# <<< fastinstall pin"
_BARE = re.compile(
    rb"(?m)^(?:find-links|constraint) = [^\n]*/share/fastinstall/pin/(?:wheels|constraints\.txt)(?:\n|\Z)"
)
_PLAIN = re.compile(r"[A-Za-z0-9_./+@=~-]+")


def requirement_of(distribution: str, version: str) -> str:
    """Return the requirement for one build ("pillow==13.0.0+simd.v2.v3")."""
    return f"{distribution}=={version}"


def location(path: PurePath) -> str:
    """Return a path as an item for lists that pip and uv split at blanks; an unusual path is returned as a URL."""
    text = str(path)
    if _PLAIN.fullmatch(text):
        return text
    return file_url(path)


def settings(prefix: PurePath, links: Sequence[str] = ()) -> dict[str, str]:
    """Return the pin's settings for pip's configuration, by key.

    Args:
        prefix: the environment.
        links: values of `find-links` in other files, which the pin would otherwise hide.
    """
    return {LINKS: " ".join((*links, location(prefix / WHEELS))), CONSTRAINT: location(prefix / CONSTRAINTS)}


def constraints_text(requirement: str, wheel: str) -> str:
    """Return the text of the constraints file.

    The constraint has a marker for the wheel's platform, because uv also locks projects for other platforms. For a
    platform on which a constraint cannot be met, uv picks ancient versions of packages that require Pillow (measured
    2026-11-21 with uv 0.13.8).

    Args:
        requirement: the requirement for one build, as returned by `requirement_of`.
        wheel: the wheel's file name, from which its platform is read.
    """
    from fastinstall.pins.tools import parse_pinned_build  # needed only to write a pin

    comment = "# fastinstall, for pip and uv: the wheel of this build is in wheels/ beside this file"
    try:
        marker = f" ; {parse_pinned_build(wheel).here}"
    except ValueError:  # the wheel's name does not have the form of a build for one platform
        marker = ""
    return f"{comment}\n{requirement}{marker}\n"


def constraint_in(text: str) -> str:
    """Return the requirement in the text of a pin's constraints file, without its marker; empty if it has none."""
    lines = (line.strip() for line in text.splitlines())
    return next((line.partition(";")[0].strip() for line in lines if line and not line.startswith("#")), "")


def environment_text(prefix: PurePath, links: Sequence[str] = ()) -> str:
    """Return a POSIX shell script that adds the pin to pip's and uv's variables, after values already exported.

    The arguments are described in `settings`.
    """
    wheels, constraints = location(prefix / WHEELS), location(prefix / CONSTRAINTS)
    return "\n".join(
        (
            "# fastinstall: holds uv and pip to this environment's Pillow, including security updates.",
            "# Source it in a POSIX shell; values that are already exported stay.",
            _export("UV_CONSTRAINT", constraints, " "),
            _export("UV_FIND_LINKS", wheels, ","),
            _export("PIP_CONSTRAINT", constraints, " "),
            *(f"PIP_FIND_LINKS=${{PIP_FIND_LINKS:-{quote(' '.join(links))}}}" for _ in links[:1]),
            _export("PIP_FIND_LINKS", wheels, " "),
            "",
        )
    )


def describe_pin_for_uv(prefix: PurePath) -> str:
    """Return a sentence with the shell command that makes uv obey the pin, as uv has no settings per environment."""
    return f"uv does not read pip.conf; before uv pip: . {quote(prefix / ENVIRONMENT)}"


def insertion(content: bytes, prefix: PurePath, links: Sequence[str] = ()) -> tuple[str, int]:
    """Return the pin's lines for an environment's `pip.conf`, and where to insert them: an offset in bytes.

    Args:
        content: content of `pip.conf`; empty if the file does not exist.
        prefix: the environment.
        links: values of `find-links` in other files; see `settings`.

    Raises:
        RefusedError: pip cannot read the file, or the pin's lines would change the meaning of the file's other lines.
    """
    lines = [f"{key} = {value}" for key, value in settings(prefix, links).items()]
    header = re.search(rb"(?m)^\[install\][^\n]*(\n|\Z)", content)
    lines = [_OPENING, _TELLING, *([f"[{SECTION}]"] if header is None else []), *lines, _CLOSING]
    text, place = "\n".join((*lines, "")), header.end() if header is not None else 0
    if header is not None and not header[1]:  # the section header is the end of the file, without a line break
        text = "\n" + text.removesuffix("\n")
    _refuse_misread(content, text, place, prefix)
    return text, place


def block_in(content: bytes) -> tuple[str, ...]:
    """Return the pin's lines in pip's configuration, including the comments that mark them; empty if there are none."""
    ours = b"".join(content[start:end] for start, end in _find_spans(content))
    return tuple(ours.decode("utf-8", "surrogateescape").strip("\r\n").splitlines())


def read_pinned_settings(content: bytes) -> dict[str, str]:
    """Return the settings in the pin's lines of pip's configuration, by key; empty if there are none."""
    pairs = (line.partition("=") for line in block_in(content) if not line.startswith(("#", "[")))
    return {key.strip(): value.strip() for key, _, value in pairs}


def is_heeded(content: bytes, pinned: Mapping[str, str], file: PurePath) -> bool:
    """Return whether `pip install` gets the pin's settings from section [install] or [global] of a configuration file.

    Args:
        content: the content of pip's configuration file.
        pinned: the pin's settings, by key.
        file: path of the configuration file, only for the error message.

    Raises:
        RefusedError: pip cannot read the file.
    """
    said = parse_pip_config(content, file)
    heeded = {**said.get("global", {}), **said.get(SECTION, {})}
    return all(heeded.get(key) == value for key, value in pinned.items())


def remove_pin_block(content: bytes) -> bytes:
    """Return pip's configuration without the pin's lines; their section header stays if other settings follow it."""
    spans = _find_spans(content)
    end = max((end for _, end in spans), default=0)
    header, following = f"[{SECTION}]", (line.strip() for line in content[end:].split(b"\n"))
    first = next((line for line in following if line and not line.startswith((b"#", b";"))), b"[")
    kept = f"{header}\n" if header in block_in(content) and not first.startswith(b"[") else ""
    for start, stop in reversed(spans):
        content = content[:start] + kept.encode() + content[stop:]
    return content


def parse_pip_config(content: bytes, file: PurePath) -> dict[str, dict[str, str]]:
    """Return the settings of pip's configuration by section, with the parser that pip uses.

    Raises:
        RefusedError: pip cannot read the file.
    """
    import configparser  # takes 3 ms, needed only for a pin

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(content.decode("utf-8", "surrogateescape"))
    except configparser.Error as error:
        raise RefusedError(
            f"{file}: pip cannot read it: {' '.join(str(error).split())}", hint=f"correct it first: {quote(file)}"
        ) from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _find_spans(content: bytes) -> tuple[tuple[int, int], ...]:
    """Return the start and end of the pin's block in pip's configuration.

    If `pip config set` has removed the comments that mark the block, return the start and end of each of the pin's
    lines.
    """
    opening = re.search(rb"(?m)^# >>> fastinstall pin", content)
    if opening is None:
        return tuple(line.span() for line in _BARE.finditer(content))
    closing = re.compile(rb"(?m)^# <<< fastinstall pin[^\n]*(\n|\Z)").search(content, opening.end())
    if closing is None:
        return ()
    return ((opening.start() if closing[1] else max(opening.start() - 1, 0), closing.end()),)


def _export(name: str, value: str, separator: str) -> str:
    """Return shell code that exports a variable, after appending a value unless the variable contains it already."""
    known = f'"{separator}${{{name}:-}}{separator}"'
    added = f'{name}="${{{name}:+${name}{separator}}}{value}"'
    return f"case {known} in *{quote(f'{separator}{value}{separator}')}*) ;; *) {added} ;; esac; export {name}"


def _refuse_misread(content: bytes, text: str, place: int, prefix: PurePath) -> None:
    """Raise `RefusedError` if the pin's lines, inserted at byte `place`, would change the meaning of other lines."""
    file = prefix / CONFIGURATION
    before = parse_pip_config(content, file)
    after = parse_pip_config(content[:place] + text.encode() + content[place:], file)
    ours = after.get(SECTION, {})
    expected = {key: value for key, value in ours.items() if key not in (LINKS, CONSTRAINT)}
    if before.get(SECTION, {}) != expected or {**before, SECTION: ours} != after:
        raise RefusedError(
            f"{file}: the pin in section [{SECTION}] would change the meaning of the other lines",
            hint=f"remove the blanks before the lines of that section: {quote(file)}",
        )
