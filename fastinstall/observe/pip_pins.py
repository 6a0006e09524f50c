"""The pin of a virtual environment: files inside it that hold pip and uv to the stack. Pure: from texts to texts.

A constraint alone does harm: a resolver that does not find the wheel takes ancient versions of whatever requires
another Pillow, until one requires none. So wheel and constraint go together, always. Source of the formats: pip's
"Configuration" and "Constraints Files", uv's "Environment variables".
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.pins.markers import parse_pinned_build

DIRECTORY = "share/fastinstall/pin"
"""Of everything but the lines in pip's configuration, relative to the prefix, like the names below."""

WHEELS = f"{DIRECTORY}/wheels"
CONSTRAINTS = f"{DIRECTORY}/constraints.txt"
ENVIRONMENT = f"{DIRECTORY}/environment.sh"
CONFIGURATION = "pip.conf"
SECTION = "install"
"""Of `pip install` alone: what `pip download` and `pip wheel` fetch is for other environments."""

LINKS, CONSTRAINT = "find-links", "constraint"

_OPENING = "# >>> fastinstall pin: no other Pillow comes here, security updates neither"
_TELLING = "# `fastinstall guard remove` takes these lines away; yours go below them, under a [section] of their own"
_CLOSING = "# <<< fastinstall pin"
_PLAIN = re.compile(r"[A-Za-z0-9_./+@=~-]+")


@immutable
class Insertion:
    """Text for a file that people write.

    Attributes:
        text: what goes in.
        place: where, in bytes from the start.
    """

    text: str
    place: int


def requirement_of(distribution: str, version: str) -> str:
    """What holds to one build ("pillow==13.0.0+simd.v2.v3")."""
    return f"{distribution}=={version}"


def location(path: PurePath) -> str:
    """A path as pip's and uv's lists take it; those end at blanks, so an odd one becomes a URL."""
    text = str(path)
    if _PLAIN.fullmatch(text):
        return text
    from urllib.parse import quote as percent_encoded  # noqa: PLC0415 (7 ms, and rarely needed)

    return f"file://{percent_encoded(text)}"


def settings(prefix: PurePath, links: Sequence[str] = ()) -> dict[str, str]:
    """What pip's configuration has to say.

    Args:
        prefix: of the environment.
        links: further places of wheels, which the pin's own would hide otherwise.
    """
    return {LINKS: " ".join((*links, location(prefix / WHEELS))), CONSTRAINT: location(prefix / CONSTRAINTS)}


def constraints_text(requirement: str, wheel: str) -> str:
    """What the constraints file says.

    It bears the marker of where the wheel runs: uv locks projects for other systems too, and goes back to ancient
    versions of whatever requires Pillow where a constraint can not be met (measured 2026-11-21 with uv 0.13.8).

    Args:
        requirement: of `requirement_of`.
        wheel: its file name.
    """
    comment = "# of fastinstall, for pip and uv: the build whose wheel lies in wheels/ beside this file"
    try:
        marker = f" ; {parse_pinned_build(wheel).here}"
    except ValueError:  # a wheel that runs everywhere
        marker = ""
    return f"{comment}\n{requirement}{marker}\n"


def constraint_in(text: str) -> str:
    """The requirement that a constraints file of ours holds to, without its marker; empty if there is none."""
    lines = (line.strip() for line in text.splitlines())
    return next((line.partition(";")[0].strip() for line in lines if line and not line.startswith("#")), "")


def environment_text(prefix: PurePath, links: Sequence[str] = ()) -> str:
    """Lines for a POSIX shell; what is exported already stays, and comes first. Arguments as of `settings`."""
    wheels, constraints = location(prefix / WHEELS), location(prefix / CONSTRAINTS)
    return "\n".join(
        (
            "# of fastinstall: holds uv, and pip, to the Pillow of this environment, security updates too;",
            "# to be read by a POSIX shell; what it has exported already stays",
            _export("UV_CONSTRAINT", constraints, " "),
            _export("UV_FIND_LINKS", wheels, ","),
            _export("PIP_CONSTRAINT", constraints, " "),
            *(f"PIP_FIND_LINKS=${{PIP_FIND_LINKS:-{quote(' '.join(links))}}}" for _ in links[:1]),
            _export("PIP_FIND_LINKS", wheels, " "),
            "",
        )
    )


def insertion(content: bytes, prefix: PurePath, links: Sequence[str] = ()) -> Insertion:
    """Where our lines go into pip's configuration of an environment, and how they read there.

    Args:
        content: of the file; empty if there is none.
        prefix: of the environment.
        links: as of `settings`.

    Raises:
        RefusedError: pip cannot read the file, or would read it otherwise than it says.
    """
    lines = [f"{key} = {value}" for key, value in settings(prefix, links).items()]
    header = re.search(rb"(?m)^\[install\][^\n]*(\n|\Z)", content)
    lines = [_OPENING, _TELLING, *([f"[{SECTION}]"] if header is None else []), *lines, _CLOSING]
    text, place = "\n".join((*lines, "")), header.end() if header is not None else 0
    if header is not None and not header[1]:  # its last line has no end, so ours takes over that it has none
        text = "\n" + text.removesuffix("\n")
    made = Insertion(text=text, place=place)
    _refuse_misread(content, made, prefix)
    return made


def block_in(content: bytes) -> tuple[str, ...]:
    """Return our lines with their marks, empty if they are not there."""
    start, end = _find_span(content)
    return tuple(content[start:end].decode("utf-8", "surrogateescape").strip("\r\n").splitlines())


def read_pinned_settings(content: bytes) -> dict[str, str]:
    """Parse our lines by key, empty if they are not there."""
    pairs = (line.partition("=") for line in block_in(content) if not line.startswith(("#", "[")))
    return {key.strip(): value.strip() for key, _, value in pairs}


def remove_pin_block(content: bytes) -> bytes:
    """The file less our lines; a header of ours stays where somebody's settings have come to stand below it."""
    start, end = _find_span(content)
    header, following = f"[{SECTION}]", (line.strip() for line in content[end:].split(b"\n"))
    first = next((line for line in following if line and not line.startswith((b"#", b";"))), b"[")
    kept = f"{header}\n" if header in block_in(content) and not first.startswith(b"[") else ""
    return content[:start] + kept.encode() + content[end:]


def parse_pip_config(content: bytes, file: PurePath) -> dict[str, dict[str, str]]:
    """Sections and settings, by the reader that pip has.

    Raises:
        RefusedError: pip cannot read it.
    """
    import configparser  # noqa: PLC0415 (3 ms that only a pin pays)

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(content.decode("utf-8", "surrogateescape"))
    except configparser.Error as error:
        raise RefusedError(
            f"{file}: pip cannot read it: {' '.join(str(error).split())}", hint=f"mend it first: {quote(file)}"
        ) from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _find_span(content: bytes) -> tuple[int, int]:
    """Where our lines start and end."""
    opening = re.search(rb"(?m)^# >>> fastinstall pin", content)
    closing = opening and re.compile(rb"(?m)^# <<< fastinstall pin[^\n]*(\n|\Z)").search(content, opening.end())
    if opening is None or closing is None:
        return 0, 0
    return opening.start() if closing[1] else max(opening.start() - 1, 0), closing.end()


def _export(name: str, value: str, separator: str) -> str:
    """Append a value to a variable, once."""
    known = f'"{separator}${{{name}:-}}{separator}"'
    added = f'{name}="${{{name}:+${name}{separator}}}{value}"'
    return f"case {known} in *{quote(f'{separator}{value}{separator}')}*) ;; *) {added} ;; esac; export {name}"


def _refuse_misread(content: bytes, made: Insertion, prefix: PurePath) -> None:
    """Raise if the file would not say what it said before, and what we add."""
    file = prefix / CONFIGURATION
    before = parse_pip_config(content, file)
    after = parse_pip_config(content[: made.place] + made.text.encode() + content[made.place :], file)
    ours = after.get(SECTION, {})
    expected = {key: value for key, value in ours.items() if key not in (LINKS, CONSTRAINT)}
    if before.get(SECTION, {}) != expected or {**before, SECTION: ours} != after:
        raise RefusedError(
            f"{file}: lines of ours in its section [{SECTION}] would change what the others mean",
            hint=f"start the lines of that section without blanks: {quote(file)}",
        )
