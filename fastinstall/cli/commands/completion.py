"""`fastinstall completion bash|zsh|fish`: the script that completes command lines, for a shell to read."""

from argparse import Namespace

from fastinstall.cli.completion import completion_script
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode
from fastinstall.verbs.schemas import Completion, Shell


def run(arguments: Namespace, context: Context) -> int:
    """Print it; nothing is installed."""
    script = completion_script(arguments.shell)
    if context.console.json:
        from fastinstall.core.values import document, dump  # noqa: PLC0415 (only for JSON)

        script = dump(document("completion", Completion(shell=Shell(arguments.shell), script=script)))
    context.console.data(script.removesuffix("\n"))
    return ExitCode.OK
