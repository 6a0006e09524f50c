"""Configuration files of conda: where they lie, and the few keys that are asked for.

A small part of YAML, read tolerantly: words, and lists of words in block or flow style. What is not understood counts
as not there; conda itself, which uses the files, is the one to complain.

Source: `SEARCH_PATH` in conda's `base/constants.py`, and `Configuration` in its `common/configuration.py`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.model.immutable import immutable
from fastinstall.system import foreign

_SYSTEM = ("/etc/conda", "/var/lib/conda")
_NAMES = (".condarc", "condarc")
_DIRECTORY = "condarc.d"
_SUFFIXES = (".yml", ".yaml")
_ITEM = re.compile(r"\s*-(?:\s+(.*))?")
_NO_WORD = re.compile(r"[\[{&*!|>%@`]|.*:(?:\s|$)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})")


@immutable
class Word:
    """A word in a configuration file.

    Attributes:
        text: without quotes, variables put in.
        flag: what a comment behind it says of its rank: "top", "bottom", "final"; else empty.
    """

    text: str
    flag: str = ""


@immutable
class Words:
    """A list of words in a configuration file.

    Attributes:
        words: in order.
        flag: what a comment behind the key says of its rank: "final"; else empty.
    """

    words: tuple[Word, ...]
    flag: str = ""


def search_path(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[Path, ...]:
    """The configuration files that conda would read for an environment, those that rank higher last.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in; None if unknown.
    """
    home, settings = variables.get("HOME"), variables.get("XDG_CONFIG_HOME")
    directories = (
        *(Path(place) for place in _SYSTEM),
        *((root,) if root else ()),
        *((Path(settings, "conda"),) if settings else ()),
        *((Path(home, ".config/conda"), Path(home, ".conda")) if home else ()),
    )
    places = [file for directory in directories for file in environment_files(directory)]
    places += [Path(home, ".condarc")] if home else []
    places += environment_files(prefix)
    named = Path(variables.get("CONDARC", "")).expanduser()
    places += [named] if named.name in _NAMES or named.name.endswith(_SUFFIXES) else []
    return tuple(dict.fromkeys(path for path in places if path.is_file()))


def environment_files(directory: Path) -> tuple[Path, ...]:
    """The configuration files of one directory, an environment's for example, those that rank higher last."""
    try:
        names = sorted(os.listdir(directory / _DIRECTORY))  # noqa: PTH208 (names are what is compared)
    except OSError:
        names = []
    parts = (directory / _DIRECTORY / name for name in names if name.endswith(_SUFFIXES))
    return (*(path for name in _NAMES if (path := directory / name).is_file()), *parts)


def read_list(file: Path, names: tuple[str, ...], variables: Mapping[str, str]) -> Words | None:
    """The words of a key that takes a list.

    Args:
        file: a configuration file.
        names: of the key, and what else it is called.
        variables: what words may refer to ("$NAME").

    Returns:
        None where the file does not have it, cannot be read, or has something else there.
    """
    value, comment, following = _found(file, names)
    if value and not value.startswith("["):
        return None
    words = tuple(_flow(value, following) if value else _block(following))
    expanded = tuple(Word(text=_expanded(word.text, variables), flag=word.flag) for word in words)
    return Words(words=expanded, flag=_flag(comment)) if expanded else None


def read_word(file: Path, names: tuple[str, ...]) -> Word | None:
    """The word of a key that takes one; None as in `read_list`."""
    value, comment, _ = _found(file, names)
    return next(_word(value, comment), None)


def _found(file: Path, names: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """What stands behind a key: its value, the comment on that line, and the lines that follow."""
    try:
        lines = foreign.read_text(file).splitlines()
    except (OSError, ValueError):
        return "", "", []
    for number, line in enumerate(lines, start=1):
        key, colon, rest = line.partition(":")
        if colon and key.rstrip() in names:
            value, comment = _uncommented(rest)
            return value.strip(), comment, lines[number:]
    return "", "", []


def _flow(value: str, following: list[str]) -> Iterator[Word]:
    lines = (_uncommented(line)[0] for line in following)
    flow, end, _ = " ".join([value, *lines]).partition("]")
    for part in flow[1:].split(",") if end else ():
        yield from _word(part.strip(), "")


def _block(lines: list[str]) -> Iterator[Word]:
    for line in lines:
        value, comment = _uncommented(line)
        item = _ITEM.fullmatch(value)
        if item is not None:
            yield from _word((item[1] or "").strip(), comment)
        elif value.strip():
            return


def _word(text: str, comment: str) -> Iterator[Word]:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    plain = text[1:-1] if quoted else text
    if plain and (quoted or not _NO_WORD.match(plain)):
        yield Word(text=plain, flag=_flag(comment))


def _uncommented(line: str) -> tuple[str, str]:
    """What stands before a comment, and the comment."""
    quote = ""
    for place, character in enumerate(line):
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
        elif character == "#" and not quote and (place == 0 or line[place - 1].isspace()):
            return line[:place].rstrip(), line[place:]
    return line.rstrip(), ""


def _flag(comment: str) -> str:
    return comment.strip("!# \t")


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text)
