"""`fastinstall build -o DIR`: build a wheel or conda packages without installing them.

`fastinstall build --hosts DIR -o WHEELHOUSE`: build the few wheels that many machines need.

`fastinstall build --set -o DIR`: build one wheel for each CPython in use; DIR is an index for pip and the like.

`fastinstall build --tool-only -o DIR`: fetch fastinstall itself, for machines without a package index.
"""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.cli.commands.plan import code_of, plan_fleet
from fastinstall.cli.common import open_working_session, refuse_together, refuse_without, target_of, tell
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_request
from fastinstall.cli.text.fleets import fleet_text
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.core.messages import quote
from fastinstall.fleet.fleet import FleetArtefact
from fastinstall.fleet.host_plan import plan_set
from fastinstall.fleet.wheels import build_fleet, build_set
from fastinstall.model.conda import CondaStack
from fastinstall.model.request import Request
from fastinstall.model.results import BuildReport, BuiltPackage, Format, ToolWheels
from fastinstall.observe.session import Session
from fastinstall.setup.wheel import Emulation, build_proven_wheel, publish_channel, require_channel
from fastinstall.wheelbuild.package_index import publish_wheel, require_wheelhouse


def run(arguments: Namespace, context: Context) -> int:
    """Build for one interpreter, or with --hosts or --set for many machines; no environment is changed."""
    refuse_together(arguments, "--set", ("--hosts", "--prefix"))
    refuse_together(arguments, "--tool-only", ("--hosts", "--prefix", "--python", "--set"))
    refuse_without(arguments, "--hosts", ("--max-age",))
    if arguments.tool_only:
        return publish_tool_only(arguments, context)
    if arguments.hosts is not None or arguments.set:
        return build_for_many(arguments, context)
    session, output, request = _open(arguments, context)
    as_conda, machine = arguments.format == "conda", _read_machine(arguments)
    if as_conda and machine:
        raise UsageError("--machine makes wheels, not conda packages", hint="leave --format out")
    if as_conda:
        require_channel(session, request, output)
    else:
        require_wheelhouse(output)
    target = replace(target_of(arguments), machine=machine)
    planned, built = build_proven_wheel(session, target, request, _read_emulation(arguments))
    served = ((planned.interpreter.version, planned.interpreter.machine),) if arguments.with_tool else ()
    stack, wheel = None, built.wheel
    with _bring_tool(session, output, served, request) as tool:
        if as_conda:
            stack = publish_channel(session, planned, wheel, output)
        else:
            wheel = publish_wheel(session, wheel, built.sha256, output)
    report = BuildReport(
        format=Format.CONDA if as_conda else Format.WHEEL,
        wheel=wheel,
        sha256=built.sha256,
        from_cache=built.from_cache,
        channel=stack.package.channel if stack is not None else "",
        packages=tuple(_describe_packages(stack)) if stack is not None else (),
        tool=tool,
    )
    paths = [package.path for package in report.packages] or [wheel]
    if tool is not None:
        paths.append(tool.directory / tool.wheel)
    tell(context, "build", report, lambda *_: "\n".join(map(str, paths)))
    return ExitCode.OK


def publish_tool_only(arguments: Namespace, context: Context) -> int:
    """Put fastinstall's own wheels into a directory, so that offline machines can be inspected before any build."""
    from fastinstall.fleet.tool_wheels import fetch_tool, publish_tool  # only with --tool-only

    session, output, request = _open(arguments, context)
    with publish_tool(session, *fetch_tool(session, output, offline=request.offline)) as tool:
        pass
    tell(context, "tool", tool, lambda tool, _page: str(tool.directory / tool.wheel))
    return ExitCode.OK


def _open(arguments: Namespace, context: Context) -> tuple[Session, Path, Request]:
    """Return the session, the output directory, and the request."""
    output = expand_home(arguments.output).absolute()
    return open_working_session(context), output, read_request(arguments, context.sources)


@contextmanager
def _bring_tool(
    session: Session, output: Path, served: tuple[tuple[str, str], ...], request: Request
) -> Iterator[ToolWheels | None]:
    """Publish fastinstall itself beside the wheels that the `with` block publishes; do nothing if `served` is empty.

    All wheels of fastinstall are fetched before anything is written.

    Args:
        session: variables, directories, clock and event listener of this run.
        output: the directory of the wheels.
        served: the Pythons that need fastinstall, as pairs of version and machine.
        request: the build request, whose `offline` forbids downloads.
    """
    if not served:
        yield None
        return
    pythons, machines = zip(*served, strict=True)
    from fastinstall.fleet.tool_wheels import fetch_tool, publish_tool  # only with --with-tool

    fetched = fetch_tool(session, output, pythons=pythons, machines=machines, offline=request.offline)
    with publish_tool(session, *fetched) as tool:
        yield tool


def _describe_packages(stack: CondaStack) -> Iterator[BuiltPackage]:
    """Yield the conda packages that were built: the stack, then the guard package if there is one."""
    for each in (stack.package, stack.guard):
        if each is not None:
            path = Path(stack.channel) / each.subdir / f"{each.dist}.conda"
            yield BuiltPackage(name=each.name, version=each.version, build=each.build, path=path, sha256=each.sha256)


def build_for_many(arguments: Namespace, context: Context) -> int:
    """Build the wheels that the hosts of `--hosts` need; with `--set`, build one wheel for each CPython in use."""
    if arguments.format == "conda":
        flag = "--set" if arguments.set else "--hosts"
        raise UsageError(
            f"{flag} makes wheels, which also work in conda environments: setup turns them into conda packages",
            hint="leave --format out; a channel for one Python: fastinstall build --format conda --python EXE -o DIR",
        )
    session, output, request = _open(arguments, context)
    if arguments.set:
        planned, build = plan_set(session, target_of(arguments).python, request, _read_machine(arguments)), build_set
    else:
        planned, build = plan_fleet(session, arguments, request), build_fleet
    required = [each for each in planned.artefacts if _is_required(each)]
    served = tuple((each.python, each.architecture) for each in required) if arguments.with_tool else ()
    with _bring_tool(session, output, served, request):
        fleet = build(session, planned, output, _read_emulation(arguments))
    tell(context, "fleet", fleet, fleet_text)
    is_available = any(each.wheel is not None for each in fleet.artefacts)
    if arguments.set and is_available:
        context.console.talk(f"serve it as a package index: python3 -m http.server --directory {quote(output)}")
    if any(each.wheel is None and _is_required(each) for each in fleet.artefacts):
        return ExitCode.FAILED_UNCHANGED
    if arguments.set:
        return ExitCode.OK if is_available else ExitCode.REFUSED
    return code_of(fleet)


def _is_required(artefact: FleetArtefact) -> bool:
    """Return True if a missing wheel is a failure: hosts need it, or this machine has the Python to build it."""
    return bool(artefact.hosts) or artefact.builder is not None


def _read_machine(arguments: Namespace) -> str:
    """Return the value of --machine, or an empty text if it is absent or names this machine's architecture."""
    machine = str(arguments.machine or "")
    return "" if machine == os.uname().machine else machine


def _read_emulation(arguments: Namespace) -> Emulation:
    """Return how to prove a wheel for another architecture, from --emulated-python and --unproven."""
    pythons = tuple(Path(expand_home(each)) for each in arguments.emulated_python)
    return Emulation(pythons=pythons, unproven=arguments.unproven)
