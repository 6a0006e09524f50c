"""`fastinstall build -o DIR`: the wheel alone, or its conda packages."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from fastinstall.api.building import Built, build_channel, build_into, merge_report
from fastinstall.cli.common import progress_for, session_of, target_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import document, dump
from fastinstall.model.conda import CondaPackage


def run(arguments: Namespace, context: Context) -> int:
    """Build for the target's interpreter, without touching the target."""
    session = session_of(context).listening(progress_for(context))
    output = Path(arguments.output).expanduser().absolute()
    build = build_channel if arguments.format == "conda" else build_into
    built = build(session, target_of(arguments), wish_of(arguments, context), output)
    if arguments.explain:
        return _explain(built, context)
    if context.console.json:
        context.console.data(dump({"schema": "fastinstall.build/1", **_summary(built)}))
    else:
        context.console.data("\n".join(str(path) for path in _files(built)))
    return ExitCode.OK


def _summary(built: Built) -> dict[str, Any]:
    result, stack = built.result, built.stack
    wheel = {"wheel": str(result.wheel), "sha256": result.sha256, "from_cache": result.from_cache}
    if stack is None:
        return {"format": "wheel", **wheel}
    packages = [
        {"name": each.name, "version": each.version, "build": each.build, "path": str(path), "sha256": each.sha256}
        for each, path in zip(_packages(built), _files(built), strict=True)
    ]
    return {"format": "conda", **wheel, "channel": stack.package.channel, "packages": packages}


def _packages(built: Built) -> list[CondaPackage]:
    """The conda packages, the stack first."""
    stack = built.stack
    return [each for each in (stack.package, stack.guard) if each is not None] if stack is not None else []


def _files(built: Built) -> list[Path]:
    """What was asked for: the wheel, or the conda packages."""
    if built.stack is None:
        return [built.result.wheel]
    return [Path(built.stack.channel) / each.subdir / f"{each.dist}.conda" for each in _packages(built)]


def _explain(built: Built, context: Context) -> int:
    """The wheel's own report of its merge."""
    report = merge_report(built.result.wheel)
    made = [str(path) for path in _files(built)]
    if report is None:
        context.console.data("\n".join((*made, "nothing was merged into it: its source was built as it is")))
    elif context.console.json:
        context.console.data(dump(document("merge", report)))
    else:
        from fastinstall.merge.explain import explain  # noqa: PLC0415 (only with --explain)

        context.console.data("\n".join((*made, *explain(report))))
    return ExitCode.OK
