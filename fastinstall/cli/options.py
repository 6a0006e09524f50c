"""Every wish as one row: its flag, its variable, its key in fastinstall.toml, and how to read it.

Precedence: flag, then FASTINSTALL_* variable, then the settings file, then the default of `Wish`.
"""

import argparse
from dataclasses import replace
from typing import Any

from fastinstall.cli import readers
from fastinstall.cli.settings import Reader, Sources, read_from, variable_of
from fastinstall.model.conda import Engine
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import DIST_NAMES, LinkMode, Risk, ToolchainSource, Wish


@immutable
class Option:
    """One wish.

    Attributes:
        field: its name in `Wish`, and its key in fastinstall.toml.
        flag: on the command line.
        metavar: of its value; empty for a switch.
        help: one line.
        read: text, list or boolean to the value; raises ValueError with a sentence.
        negated: flag and variable turn the field off ("--no-guard"); the key is the field itself.
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
        return variable_of(self.flag)


WISHES: tuple[Option, ...] = (
    Option(
        field="recipe",
        flag="--recipe",
        metavar="NAME",
        help="what to build (fastinstall recipes list)",
        read=readers.text,
    ),
    Option(
        field="version",
        flag="--version",
        metavar="V",
        help="version of the source; default: the newest that fits",
        read=readers.text,
    ),
    Option(
        field="level",
        flag="--level",
        metavar="LEVEL",
        help="one CPU level: x86-64-v2, x86-64-v3, x86-64-v4 or native; auto: --levels as suits this machine",
        read=readers.text,
    ),
    Option(
        field="levels",
        flag="--levels",
        metavar="LEVEL,...",
        help="several CPU levels in one wheel, of which the loader takes the best (glibc 2.33 or later)",
        read=readers.names,
    ),
    Option(
        field="require",
        flag="--require",
        metavar="LIB,...",
        help="libraries that the build must have",
        read=readers.names,
    ),
    Option(
        field="link",
        flag="--link",
        metavar="MODE",
        help="bundle (default), env or system libraries",
        read=readers.one_of(LinkMode),
    ),
    Option(
        field="dist_name",
        flag="--dist-name",
        metavar="NAME",
        help=f"{DIST_NAMES[0]} (default) or {DIST_NAMES[1]}",
        read=readers.word_of(DIST_NAMES),
    ),
    Option(field="jobs", flag="--jobs", metavar="N", help="parallel compile jobs", read=readers.count),
    Option(field="offline", flag="--offline", metavar="", help="never use the network", read=readers.switch),
    Option(
        field="wheelhouse",
        flag="--wheelhouse",
        metavar="DIR",
        help="take sdists and wheels from there",
        read=readers.directory,
    ),
    Option(
        field="with_system_deps",
        flag="--with-system-deps",
        metavar="",
        help="install missing system packages",
        read=readers.switch,
    ),
    Option(
        field="toolchain",
        flag="--toolchain",
        metavar="SOURCE",
        help="compiler and headers: auto (default), system, or conda: of conda packages, in a private prefix",
        read=readers.one_of(ToolchainSource),
    ),
    Option(
        field="engine",
        flag="--engine",
        metavar="ENGINE",
        help="in a conda environment: conda, rattler (py-rattler), or pip for a plain wheel; auto (default)",
        read=readers.one_of(Engine),
    ),
    Option(
        field="channels",
        flag="--channel",
        metavar="CHANNEL,...",
        help="conda channels for what else is needed; default: as conda is configured",
        read=readers.channels,
    ),
    Option(
        field="guard",
        flag="--no-guard",
        metavar="",
        help="do not install the guards",
        read=readers.switch,
        negated=True,
    ),
    Option(
        field="pin",
        flag="--pin",
        metavar="",
        help="also pin it in the environment's configuration; holds back security updates of Pillow too",
        read=readers.switch,
    ),
    Option(
        field="upgrade",
        flag="--upgrade",
        metavar="",
        help="look for a later version even if all is well",
        read=readers.switch,
    ),
    Option(
        field="allow",
        flag="--allow",
        metavar="RISK,...",
        help="accept named risks: " + ", ".join(Risk),
        read=readers.risks,
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


def read_wish(arguments: argparse.Namespace, sources: Sources) -> Wish:
    """Merge flags, variables and settings.

    Raises:
        UsageError: a value that cannot be read; names the flag or the variable.
        DocumentError: likewise, in the settings file.
    """
    given = {option.field: value for option in WISHES for value in _given(option, arguments, sources)}
    return replace(Wish(), **given)


def read_allowed(arguments: argparse.Namespace, sources: Sources) -> tuple[Risk, ...]:
    """The risks that are allowed by name, and no other wish.

    Raises:
        UsageError: as `read_wish`.
    """
    option = next(option for option in WISHES if option.field == "allow")
    return tuple(risk for risks in _given(option, arguments, sources) for risk in risks)


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


def _given(option: Option, arguments: argparse.Namespace, sources: Sources) -> tuple[Any, ...]:
    flag = getattr(arguments, f"wish_{option.field}", None)
    if flag is None:
        return sources.find(option.field, option.variable, option.read, negated=option.negated)
    value = read_from(flag, option.flag, option.read)
    return (not value if option.negated else value,)


def _flag_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value)
