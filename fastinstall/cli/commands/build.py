"""`fastinstall build -o DIR`: the wheel alone."""

from argparse import Namespace
from pathlib import Path

from fastinstall.api.building import build_into, merge_report
from fastinstall.build.request import BuildResult
from fastinstall.cli.common import progress_for, session_of, target_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import document, dump


def run(arguments: Namespace, context: Context) -> int:
    """Build for the target's interpreter, without touching the target."""
    session = session_of(context).listening(progress_for(context))
    output = Path(arguments.output).expanduser().absolute()
    built = build_into(session, target_of(arguments), wish_of(arguments, context), output)
    if arguments.explain:
        return _explain(built, context)
    if context.console.json:
        summary = {"wheel": str(built.wheel), "sha256": built.sha256, "from_cache": built.from_cache}
        context.console.data(dump({"schema": "fastinstall.build/1", **summary}))
    else:
        context.console.data(str(built.wheel))
    return ExitCode.OK


def _explain(built: BuildResult, context: Context) -> int:
    """The wheel's own report of its merge."""
    report = merge_report(built.wheel)
    if report is None:
        context.console.data(f"{built.wheel}\nnothing was merged into it: its source was built as it is")
    elif context.console.json:
        context.console.data(dump(document("merge", report)))
    else:
        from fastinstall.merge.explain import explain  # noqa: PLC0415 (only with --explain)

        context.console.data("\n".join((str(built.wheel), *explain(report))))
    return ExitCode.OK
