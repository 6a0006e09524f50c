"""`fastinstall completion bash|zsh|fish`: the script that completes command lines, for a shell to read."""

from argparse import Namespace

from fastinstall.cli.common import session_of
from fastinstall.cli.completion_scripts import completion_script
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode
from fastinstall.verbs.recipe_comparison import all_recipes
from fastinstall.verbs.schemas import Completion, Shell


def run(arguments: Namespace, context: Context) -> int:
    """Print it; nothing is installed."""
    script = completion_script(arguments.shell, all_recipes(session_of(context)))
    if context.console.json:
        from fastinstall.core.values import document, dump  # noqa: PLC0415 (only for JSON)

        script = dump(document("completion", Completion(shell=Shell(arguments.shell), script=script)))
    context.console.data(script.removesuffix("\n"))
    return ExitCode.OK
