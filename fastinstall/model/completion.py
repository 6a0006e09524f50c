"""The script by which a shell completes fastinstall's command line, as `completion --json` tells it."""

from enum import StrEnum

from fastinstall.model.immutable import immutable


class Shell(StrEnum):
    """A shell that has a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@immutable
class Completion:
    """A script for a shell to read.

    Attributes:
        shell: which one.
        script: the whole of it.
    """

    shell: Shell
    script: str
