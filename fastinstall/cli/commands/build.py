"""`fastinstall build -o DIR`: the wheel alone, or its conda packages.

`fastinstall build --hosts DIR -o WHEELHOUSE`: the few wheels that many machines need.
"""

from argparse import Namespace
from pathlib import Path

from fastinstall.apply.wheel_only import BuildOutcome, build_channel, build_wheel_into
from fastinstall.cli.commands.plan import code_of, fleet_request
from fastinstall.cli.common import make_request, progress_for, session_of, target_of, tell
from fastinstall.cli.main import Context
from fastinstall.cli.text.fleets import fleet_text
from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.core.home import expand_home
from fastinstall.core.values import document, dump
from fastinstall.fleet.wheels import build_fleet
from fastinstall.model.artefact import BuildReport, BuiltPackage, Format, ToolWheels
from fastinstall.model.conda import CondaPackage
from fastinstall.model.request import Request
from fastinstall.observe.session import Session


def run(arguments: Namespace, context: Context) -> int:
    """Build for the target's interpreter, without touching the target; with --hosts for many machines."""
    if arguments.hosts is not None:
        return run_for_hosts(arguments, context)
    session = session_of(context).listening(progress_for(context))
    output = expand_home(arguments.output).absolute()
    request = make_request(arguments, context)
    build = build_channel if arguments.format == "conda" else build_wheel_into
    built = build(session, target_of(arguments), request, output)
    tool = _bring_tool(session, output, (built.python,), request) if arguments.with_tool else None
    if context.console.json:
        context.console.data(dump(document("build", _report(built, tool))))
    else:
        brought = (tool.directory / tool.wheel,) if tool is not None else ()
        context.console.data("\n".join(str(path) for path in (*_list_built_files(built), *brought)))
    return ExitCode.OK


def _bring_tool(session: Session, output: Path, pythons: tuple[str, ...], request: Request) -> ToolWheels:
    """Fastinstall itself beside what was built, for its Pythons too."""
    from fastinstall.fleet.tool_wheels import bring_tool  # noqa: PLC0415 (only with --with-tool)

    return bring_tool(session, output, pythons=pythons, offline=request.offline)


def _report(built: BuildOutcome, tool: ToolWheels | None) -> BuildReport:
    result, stack = built.result, built.stack
    packages = () if stack is None else zip(_list_packages(built), _list_built_files(built), strict=True)
    return BuildReport(
        format=Format.WHEEL if stack is None else Format.CONDA,
        wheel=result.wheel,
        sha256=result.sha256,
        from_cache=result.from_cache,
        channel="" if stack is None else stack.package.channel,
        packages=tuple(
            BuiltPackage(name=each.name, version=each.version, build=each.build, path=path, sha256=each.sha256)
            for each, path in packages
        ),
        tool=tool,
    )


def _list_packages(built: BuildOutcome) -> list[CondaPackage]:
    """The conda packages, the stack first."""
    stack = built.stack
    return [each for each in (stack.package, stack.guard) if each is not None] if stack is not None else []


def _list_built_files(built: BuildOutcome) -> list[Path]:
    """What was asked for: the wheel, or the conda packages."""
    if built.stack is None:
        return [built.result.wheel]
    return [Path(built.stack.channel) / each.subdir / f"{each.dist}.conda" for each in _list_packages(built)]


def run_for_hosts(arguments: Namespace, context: Context) -> int:
    """Build for the hosts of facts files, and write down which host takes which wheel."""
    _refuse_host_contradictions(arguments)
    session = session_of(context).listening(progress_for(context))
    wheelhouse = expand_home(arguments.output).absolute()
    request = make_request(arguments, context)
    fleet = build_fleet(session, fleet_request(arguments), request, wheelhouse)
    if arguments.with_tool and fleet.artefacts:
        pythons = tuple(dict.fromkeys(artefact.python for artefact in fleet.artefacts))
        _bring_tool(session, wheelhouse, pythons, request)
    tell(context, "fleet", fleet, fleet_text)
    unmade = any(artefact.wheel is None for artefact in fleet.artefacts)
    return ExitCode.FAILED_UNCHANGED if unmade else code_of(fleet)


def _refuse_host_contradictions(arguments: Namespace) -> None:
    if arguments.format == "conda":
        raise UsageError(
            "--hosts makes wheels, which conda environments take too (setup makes packages of them there)",
            hint="leave --format out; a channel for one Python: fastinstall build --format conda --python EXE -o DIR",
        )
