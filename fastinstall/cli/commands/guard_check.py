"""`fastinstall guard check FILE...`: requirement and lock files that would bring stock Pillow back."""

from argparse import Namespace
from pathlib import Path

from fastinstall.api.lock_check import check_locks
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode, UsageError
from fastinstall.model.finding import Status


def run(arguments: Namespace, context: Context) -> int:
    """Judge the files; nothing is installed or changed, and no environment is needed.

    Raises:
        UsageError: no file was named, or one that cannot be judged.
    """
    if not arguments.files:
        raise UsageError("guard check needs files", hint="fastinstall guard check requirements.txt uv.lock")
    report = check_locks([Path(name).expanduser() for name in arguments.files])
    if context.console.json:
        from fastinstall.model.codec import document, dump  # noqa: PLC0415 (only for JSON)

        context.console.data(dump(document("locks", report)))
    elif report.status is Status.ERROR or not context.console.quiet:
        from fastinstall.cli.render_locks import locks_text  # noqa: PLC0415 (only for text)

        context.console.data(locks_text(report, context.console.out))
    return ExitCode.FINDINGS if report.status is Status.ERROR else ExitCode.OK
