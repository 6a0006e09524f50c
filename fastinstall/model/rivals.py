"""Other programs that change packages: as the kernel lists them, and as people are told of them."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import PurePath

from fastinstall.model.immutable import immutable


@immutable
class Program:
    """A running process, as far as its command says what it does.

    Attributes:
        number: of the process.
        words: its argv.
        variables: it was started with; empty where that is not for us to see.
        directory: it works in; relative paths on its command line start there.
        interpreter: what it runs, by the name that it was called by.
    """

    number: int
    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    directory: PurePath = PurePath("/")
    interpreter: PurePath = PurePath()


@immutable
class Change:
    """What a command changes, by its words alone.

    Attributes:
        tool: "pip", "uv", "conda" ...
        action: its command, for people; without the passwords of URLs.
        places: environments, or paths inside them; where several may be meant, all of them.
        holders: directories that environments lie in directly, any of which may be meant.
        names: patterns of an environment's own name, where its place cannot be told (see fnmatch).
        mark: what an environment of that name has to have ("conda-meta").
        until_child: it changes something only until it starts a program, and then waits for that (`uv run`).
    """

    tool: str
    action: str
    places: tuple[PurePath, ...] = ()
    holders: tuple[PurePath, ...] = ()
    names: tuple[str, ...] = ()
    mark: str = ""
    until_child: bool = False


@immutable
class Rival:
    """A program that is changing packages of an environment.

    Attributes:
        process: its number.
        tool: "pip", "uv", "conda" ...
        action: its command, for people.
    """

    process: int
    tool: str
    action: str
