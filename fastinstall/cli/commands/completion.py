"""`fastinstall completion bash|zsh|fish`: the script that completes command lines, for a shell to read."""

from argparse import Namespace
from enum import StrEnum

from fastinstall.cli.completion import completion_script
from fastinstall.cli.main import Context
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import ExitCode
from fastinstall.core.values import immutable


class Shell(StrEnum):
    """A shell that has a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@immutable
class Completion:
    """A script for a shell to read.

    Attributes:
        shell: the shell whose code is printed.
        script: the whole of it.
    """

    shell: Shell
    script: str


def run(arguments: Namespace, context: Context) -> int:
    """Print it; nothing is installed."""
    script = completion_script(arguments.shell)
    if context.console.json:
        script = dump(document("completion", Completion(shell=Shell(arguments.shell), script=script)))
    context.console.data(script.removesuffix("\n"))
    return ExitCode.OK
