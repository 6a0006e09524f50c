"""A plan for elsewhere: what an image's file or a script needs to know, without the machine that it was made on."""

from pathlib import PurePath

from fastinstall.model.artefact import Artefact
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish


@immutable
class Tool:
    """The fastinstall that is to do it.

    Attributes:
        requirement: as pip takes it ("fastinstall==1.2.0").
        pins: of what it needs, likewise, sorted.
    """

    requirement: str
    pins: tuple[str, ...]


@immutable
class Wheelhouse:
    """A directory with the stack's wheel, from which it is taken instead of being compiled.

    Attributes:
        directory: of `fastinstall build -o`, absolute.
        wheel: the one that fits.
        has_tool: whether fastinstall itself lies there too (`build --with-tool`).
    """

    directory: PurePath
    wheel: Artefact
    has_tool: bool


@immutable
class Export:
    """What was decided.

    Attributes:
        python: minor version of the Python that it is for: "3.12".
        prefix: of the environment, absolute, on the other machine.
        wish: with version and levels named, and without what speaks of this machine.
        flags: the words that ask for it.
        distribution: name of the distribution that is made.
        version: of it, with the local label ("13.0.0+simd.v2.v3").
        sources: sdists and the official wheel that it is made from; empty where there is a wheelhouse.
        packages: of the operating system (apt), that compiling takes.
        wheelhouse: where the wheel lies; None: it is compiled.
        tool: who does it.
        command: that made this, to be shown.
        warnings: what a person should know (advisories).
    """

    python: str
    prefix: PurePath
    wish: Wish
    flags: tuple[str, ...] = ()
    distribution: str
    version: str
    sources: tuple[Artefact, ...]
    packages: tuple[str, ...]
    wheelhouse: Wheelhouse | None
    tool: Tool
    command: str = ""
    warnings: tuple[str, ...] = ()
