"""Every wish as one row: its flag, its variable, its key in fastinstall.toml, and how to read it.

Precedence: flag, then FASTINSTALL_* variable, then the settings file, then the default of `Wish`.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from fastinstall.errors import DocumentError, UsageError
from fastinstall.model.wish import LinkMode, Risk, Wish

Reader = Callable[[object], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One wish.

    Attributes:
        field: its name in `Wish`, and its key in fastinstall.toml.
        flag: on the command line.
        metavar: of its value; empty for a switch.
        help: one line.
        read: text, list or boolean to the value; raises ValueError with a sentence.
        negated: the switch turns the field off ("--no-guard").
    """

    field: str
    flag: str
    metavar: str
    help: str
    read: Reader
    negated: bool = False

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "FASTINSTALL_" + self.flag.removeprefix("--").replace("-", "_").upper()


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("expected a word")
    return value


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("expected names, separated by commas")


def _switch(value: object) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
        "": False,
    }
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError("expected true or false")


def _count(value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("expected a number of at least 1")
    return number


def _directory(value: object) -> Path:
    path = Path(_text(value)).expanduser().absolute()
    if not path.is_dir():
        raise ValueError(f"{path} is not a directory")
    return path


def _one_of(members: type[Enum]) -> Reader:
    def read(value: object) -> Enum:
        try:
            return members(value)
        except ValueError:
            known = ", ".join(str(member.value) for member in members)
            raise ValueError(f"{value!r} is not one of {known}") from None

    return read


def _risks(value: object) -> tuple[Enum, ...]:
    read = _one_of(Risk)
    return tuple(read(name) for name in _names(value))


def _dist_name(value: object) -> str:
    if value not in ("pillow", "pillow-simd"):
        raise ValueError(f"{value!r} is not one of pillow, pillow-simd")
    return _text(value)


WISHES: tuple[Option, ...] = (
    Option(
        field="recipe", flag="--recipe", metavar="NAME", help="what to build (fastinstall recipes list)", read=_text
    ),
    Option(
        field="version",
        flag="--version",
        metavar="V",
        help="version of the source; default: the newest that fits",
        read=_text,
    ),
    Option(
        field="level",
        flag="--level",
        metavar="LEVEL",
        help="auto, x86-64-v2, x86-64-v3, x86-64-v4 or native",
        read=_text,
    ),
    Option(
        field="require", flag="--require", metavar="LIB,...", help="libraries that the build must have", read=_names
    ),
    Option(
        field="link",
        flag="--link",
        metavar="MODE",
        help="bundle (default), env or system libraries",
        read=_one_of(LinkMode),
    ),
    Option(
        field="dist_name", flag="--dist-name", metavar="NAME", help="pillow (default) or pillow-simd", read=_dist_name
    ),
    Option(field="jobs", flag="--jobs", metavar="N", help="parallel compile jobs", read=_count),
    Option(field="offline", flag="--offline", metavar="", help="never use the network", read=_switch),
    Option(
        field="wheelhouse",
        flag="--wheelhouse",
        metavar="DIR",
        help="take sdists and wheels from there",
        read=_directory,
    ),
    Option(
        field="with_system_deps",
        flag="--with-system-deps",
        metavar="",
        help="install missing system packages",
        read=_switch,
    ),
    Option(
        field="guard",
        flag="--no-guard",
        metavar="",
        help="do not install the start-up guard",
        read=_switch,
        negated=True,
    ),
    Option(
        field="upgrade", flag="--upgrade", metavar="", help="look for a later version even if all is well", read=_switch
    ),
    Option(
        field="allow", flag="--allow", metavar="RISK,...", help="accept named risks: " + ", ".join(Risk), read=_risks
    ),
)


def add_wishes(parser: argparse.ArgumentParser) -> None:
    """Give a parser every wish as a flag; absent flags stay None."""
    group = parser.add_argument_group("wishes (also FASTINSTALL_* variables and fastinstall.toml)")
    for option in WISHES:
        if option.metavar:
            group.add_argument(option.flag, dest=f"wish_{option.field}", metavar=option.metavar, help=option.help)
        else:
            group.add_argument(
                option.flag, dest=f"wish_{option.field}", action="store_const", const="true", help=option.help
            )


def read_wish(arguments: argparse.Namespace, variables: Mapping[str, str], settings: "Settings") -> Wish:
    """Merge flags, variables and settings.

    Raises:
        UsageError: a value that cannot be read; names the flag or the variable.
        DocumentError: likewise, in the settings file.
    """
    given = {option.field: value for option in WISHES for value in _given(option, arguments, variables, settings)}
    return replace(Wish(), **given)


def as_flags(wish: Wish) -> tuple[str, ...]:
    """The flags that ask for the same, to be printed at the end of a wizard."""
    usual = Wish()
    words: list[str] = []
    for option in WISHES:
        value = getattr(wish, option.field)
        if value == getattr(usual, option.field):
            continue
        words += [option.flag] if not option.metavar else [option.flag, _flag_text(value)]
    return tuple(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a fastinstall.toml says.

    Attributes:
        file: which one; None where there is none.
        values: its keys.
    """

    file: Path | None = None
    values: Mapping[str, object]


def load_settings(candidates: Iterable[Path]) -> Settings:
    """The first settings file that is there; unknown keys are errors that name them.

    Raises:
        DocumentError: not TOML, or an unknown key.
    """
    for path in candidates:
        if path.is_file():
            return Settings(file=path, values=_parse(path))
    return Settings(values={})


def _parse(path: Path) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 (most runs have no settings file)

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise DocumentError(path, "", str(error)) from error
    known = {option.field for option in WISHES}
    for key in values:
        if key not in known:
            raise DocumentError(path, key, f"unknown key; known here: {', '.join(sorted(known))}")
    return values


def _given(
    option: Option, arguments: argparse.Namespace, variables: Mapping[str, str], settings: Settings
) -> Iterable[Any]:
    flag = getattr(arguments, f"wish_{option.field}", None)
    if flag is not None:
        return (_from_words(option, flag, option.flag),)
    if option.variable in variables:
        return (_from_words(option, variables[option.variable], option.variable),)
    if option.field in settings.values:
        try:
            return (option.read(settings.values[option.field]),)
        except ValueError as error:
            raise DocumentError(settings.file or "fastinstall.toml", option.field, str(error)) from None
    return ()


def _from_words(option: Option, words: object, where: str) -> Any:  # noqa: ANN401 (each option reads its own type)
    try:
        value = option.read(words)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    return not value if option.negated else value


def _flag_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value)
