"""`fastinstall plan --format sh|dockerfile`: what setup would do, as a file that does it elsewhere."""

import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from fastinstall.api.exporting import export
from fastinstall.cli.common import progress_for, session_of, target_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.cli.options import as_flags
from fastinstall.errors import ExitCode, FailedError, UsageError
from fastinstall.model.export import Export
from fastinstall.rules.export import Form
from fastinstall.rules.export_dockerfile import dockerfile
from fastinstall.rules.export_sh import script
from fastinstall.rules.messages import quote
from fastinstall.system import files


def run(arguments: Namespace, context: Context) -> int:
    """Decide, and print the file or save it with -o; a script is made executable."""
    form = Form(arguments.format)
    if context.console.json:
        raise UsageError(
            f"--json and --format {form} exclude each other: the file itself is what is printed",
            hint="the plan as JSON: fastinstall plan --format json",
        )
    session = session_of(context).listening(progress_for(context))
    made = export(session, target_of(arguments), wish_of(arguments, context), form)
    made = replace(made, flags=as_flags(made.wish), command=_command(made, form))
    for warning in made.warnings:
        context.console.talk(f"warning: {warning}")
    text = script(made) if form is Form.SH else dockerfile(made, _in_context(made, arguments, context))
    if arguments.output is None:
        context.console.data(text.removesuffix("\n"))
        return ExitCode.OK
    _save(Path(arguments.output), text, executable=form is Form.SH)
    context.console.talk(f"saved; use it with: {_use(arguments.output, form)}")
    return ExitCode.OK


def _command(made: Export, form: Form) -> str:
    """The command that makes the same, on any machine."""
    wheelhouse = ("--wheelhouse", str(made.wheelhouse.directory)) if made.wheelhouse else ()
    target = ("--new-env", str(made.prefix), "--python", f"python{made.python}")
    words = ("fastinstall", "plan", "--format", form, *target, *wheelhouse, *as_flags(made.wish))
    return " ".join(map(quote, words))


def _in_context(made: Export, arguments: Namespace, context: Context) -> str:
    """The wheelhouse relative to where the file lies; by its name alone where it lies elsewhere."""
    if made.wheelhouse is None:
        return ""
    directory = Path(made.wheelhouse.directory)
    beside = Path(arguments.output or "Dockerfile").absolute().parent
    relative = os.path.relpath(directory, beside)
    if relative not in (".", "..") and not relative.startswith("../"):
        return relative
    context.console.talk(f"warning: {directory} is not below {beside}; build with {directory.parent} as the context")
    return directory.name


def _save(path: Path, text: str, *, executable: bool) -> None:
    try:
        files.write_text(path, text, mode=0o755 if executable else 0o644)
    except OSError as error:
        raise FailedError(f"-o {path}: cannot be written: {error.strerror}", hint="name another file") from error


def _use(output: str, form: Form) -> str:
    path = output if "/" in output else f"./{output}"
    return quote(path) if form is Form.SH else f"docker build --platform linux/amd64 --file {quote(output)} ."
