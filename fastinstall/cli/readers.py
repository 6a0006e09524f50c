"""How a value is read that somebody wrote: text from a flag or a variable, or what TOML holds.

Each reader raises ValueError with a sentence that says what it expected.
"""

from collections.abc import Collection
from enum import Enum
from pathlib import Path

from fastinstall.cli.settings import Reader
from fastinstall.model.wish import Risk
from fastinstall.rules.secrets import has_credentials, redacted

_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def text(value: object) -> str:
    """A word that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("expected a word")
    return value


def names(value: object) -> tuple[str, ...]:
    """Names separated by commas, or a list of them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("expected names, separated by commas")


def channels(value: object) -> tuple[str, ...]:
    """Names and addresses of conda channels; a password would be seen in the list of processes and stay in plans."""
    found = names(value)
    for channel in found:
        if channel.startswith("-") or any(character.isspace() for character in channel):
            raise ValueError(f"{channel!r} is no channel")
        if has_credentials(channel):
            raise ValueError(
                f"{redacted(channel)} bears a password or token: leave it to conda's own settings (.condarc, ~/.netrc, "
                "anaconda login), and name the channel without it"
            )
    return found


def switch(value: object) -> bool:
    """True or false, in the words that people use for it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    raise ValueError(f"expected true or false, found {value!r}")


def count(value: object) -> int:
    """A number of at least 1."""
    written = "" if isinstance(value, bool) else str(value)
    if not written.isdecimal() or int(written) < 1:
        raise ValueError(f"expected a number of at least 1, found {value!r}")
    return int(written)


def directory(value: object) -> Path:
    """A directory that is there, absolute."""
    path = Path(text(value)).expanduser().absolute()
    if not path.is_dir():
        raise ValueError(f"{path} is not a directory")
    return path


def one_of(members: type[Enum]) -> Reader:
    """A reader of the values of an enum."""

    def read(value: object) -> Enum:
        try:
            return members(value)
        except ValueError:
            raise ValueError(_not_among(value, [str(member.value) for member in members])) from None

    return read


def word_of(words: Collection[str]) -> Reader:
    """A reader of one of several words."""

    def read(value: object) -> str:
        if value not in words:
            raise ValueError(_not_among(value, words))
        return text(value)

    return read


def risks(value: object) -> tuple[Enum, ...]:
    """Names of risks."""
    read = one_of(Risk)
    return tuple(read(name) for name in names(value))


def _not_among(value: object, known: Collection[str]) -> str:
    return f"{value!r} is not one of {', '.join(known)}"
