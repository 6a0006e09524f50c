"""`fastinstall bench`: the stack in place against the newest official wheel."""

from argparse import Namespace

from fastinstall.api.benching import bench
from fastinstall.cli.common import look_at, progress_for, session_of
from fastinstall.cli.main import Context
from fastinstall.cli.render import speed_text
from fastinstall.errors import ExitCode
from fastinstall.model.codec import document, dump


def run(arguments: Namespace, context: Context) -> int:
    """Measure every operation, in turn."""
    session = session_of(context).listening(progress_for(context))
    table = bench(session, look_at(session, arguments, context))
    context.console.data(
        dump(document("bench", table)) if context.console.json else speed_text(table, context.console.out)
    )
    return ExitCode.OK
