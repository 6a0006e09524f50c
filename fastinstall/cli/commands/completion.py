"""`fastinstall completion bash|zsh|fish`: print the script with which a shell completes command lines."""

from argparse import Namespace
from enum import StrEnum

from argcomplete.shell_integration import shellcode

from fastinstall.cli.common import tell
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode
from fastinstall.core.values import immutable


class Shell(StrEnum):
    """A shell with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@immutable
class Completion:
    """A completion script.

    Attributes:
        shell: the shell that runs the script.
        script: the complete text of the script.
    """

    shell: Shell
    script: str


def run(arguments: Namespace, context: Context) -> int:
    """Print the completion script of a shell; nothing is installed."""
    script = shellcode(["fastinstall"], shell=arguments.shell, complete_arguments=("-o", "nospace"))
    made = Completion(shell=Shell(arguments.shell), script=script)
    tell(context, "completion", made, lambda each, _page: each.script.removesuffix("\n"))
    return ExitCode.OK
