"""`fastinstall build -o DIR`: the wheel alone."""

from argparse import Namespace
from pathlib import Path

from fastinstall.api.building import build_into
from fastinstall.cli.common import progress_for, session_of, target_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import dump


def run(arguments: Namespace, context: Context) -> int:
    """Build for the target's interpreter, without touching the target."""
    session = session_of(context).listening(progress_for(context))
    output = Path(arguments.output).expanduser().absolute()
    built = build_into(session, target_of(arguments), wish_of(arguments, context), output)
    if context.console.json:
        summary = {"wheel": str(built.wheel), "sha256": built.sha256, "from_cache": built.from_cache}
        context.console.data(dump({"schema": "fastinstall.build/1", **summary}))
    else:
        context.console.data(str(built.wheel))
    return ExitCode.OK
