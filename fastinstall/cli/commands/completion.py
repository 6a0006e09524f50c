"""`fastinstall completion bash|zsh|fish`: the script that completes command lines, for a shell to read."""

from argparse import Namespace
from enum import StrEnum

from argcomplete.shell_integration import shellcode

from fastinstall.cli.common import tell
from fastinstall.cli.main import Context
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
    """Print the completion script of a shell; nothing is installed."""
    script = shellcode(["fastinstall"], shell=arguments.shell, complete_arguments=("-o", "nospace"))
    made = Completion(shell=Shell(arguments.shell), script=script)
    tell(context, "completion", made, lambda each, _page: each.script.removesuffix("\n"))
    return ExitCode.OK
