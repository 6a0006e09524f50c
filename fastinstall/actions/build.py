"""Bring what a build needs, and make the wheel, or take it from the cache or the wheelhouse."""

import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.actions.toolchain import private_toolchain
from fastinstall.actions.workshop import Workshop
from fastinstall.build.cache import directory_of, log_of
from fastinstall.build.request import BuildRequest, BuildResult
from fastinstall.errors import RefusedError
from fastinstall.installers.pip import argv_for, pip_environment
from fastinstall.installers.private_headers import include_directories, unpack_headers
from fastinstall.installers.sound_wheel import require_stack_alone
from fastinstall.installers.system_packages import install_packages
from fastinstall.model.artefact import Artefact
from fastinstall.model.event import Noted, Started
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.steps import Build, CondaToolchain, PrivateHeaders, SystemPackages
from fastinstall.model.wish import LinkMode
from fastinstall.probes.compiler import observe_compiler
from fastinstall.rules.flags import probed_flags
from fastinstall.system import files


@immutable
class Brought:
    """What was brought for a build.

    Attributes:
        includes: include directories to look in first.
        variables: environment variables that name the compiler, where it is not the system's.
    """

    includes: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def bring_headers(plan: Plan, workshop: Workshop) -> Brought:
    """Install system packages, unpack private headers and make a private toolchain, as the plan says.

    Raises:
        FailedError: something could not be brought; nothing of the target is touched.
    """
    found: list[Path] = []
    variables: dict[str, str] = {}
    for step in plan.steps:
        if isinstance(step, SystemPackages):
            workshop.emit(Started(stage="packages", message=f"installing {' '.join(step.packages)}"))
            install_packages(step.manager, step.packages, workshop.emit)
        elif isinstance(step, PrivateHeaders):
            workshop.emit(Started(stage="headers", message=f"fetching headers: {' '.join(step.packages)}"))
            root = unpack_headers(step.manager, step.packages, workshop.cache, workshop.emit)
            found += include_directories(root)
        elif isinstance(step, CondaToolchain):
            private = private_toolchain(step, workshop)
            found += private.includes
            variables |= private.variables
    return Brought(includes=tuple(found), variables=variables)


def make_wheel(step: Build, interpreter: Interpreter, brought: Brought, workshop: Workshop) -> BuildResult:
    """The wheel of a plan.

    Raises:
        FailedError: it could not be fetched or built, or is no Pillow alone.
        RefusedError: there is no compiler.
    """
    if step.prebuilt is not None:
        result = taken(step.prebuilt, workshop)
        require_stack_alone(result.wheel)  # before a proof runs what is in it
        return result
    built_before = _out_of_the_cache(step, interpreter, workshop) if step.cached else None
    if built_before is not None:
        return built_before
    from fastinstall.build.pipeline import build_wheel  # noqa: PLC0415 (slow to import; not for a wheel that is ready)

    return build_wheel(request_for(step, interpreter, brought, workshop))


def _out_of_the_cache(step: Build, interpreter: Interpreter, workshop: Workshop) -> BuildResult | None:
    """Return the cached wheel that a plan names, or None if it is gone or parts of the fork are left out."""
    from fastinstall.build.ready import find_ready  # noqa: PLC0415 (slow to import; not for a wheel that is ready)

    started = time.monotonic()
    for ready in find_ready(workshop.cache, step, workshop.recipe, interpreter):
        if ready.entry.sha256 == step.cached:
            workshop.emit(Noted(message=f"{ready.entry.wheel} was built before, and is taken from the cache"))
            return BuildResult(
                wheel=directory_of(workshop.cache, ready.key) / ready.entry.wheel,
                sha256=ready.entry.sha256,
                from_cache=True,
                features=ready.entry.features,
                log=log_of(workshop.cache, ready.key),
                seconds=time.monotonic() - started,
            )
    return None


def request_for(step: Build, interpreter: Interpreter, brought: Brought, workshop: Workshop) -> BuildRequest:
    """Fetch what a step names, by its hashes, and say how it is built.

    Raises:
        FailedError: something could not be fetched.
        RefusedError: the step names no source, or there is no compiler.
    """
    if step.source is None:
        raise RefusedError(
            "the plan names neither a source nor a wheel to take", hint="make it again: fastinstall plan"
        )
    variables = {**workshop.variables, **brought.variables}
    compiler = observe_compiler(probed_flags(workshop.recipe), variables)
    if compiler is None:
        raise RefusedError("there is no C compiler", hint="run again with --with-system-deps, or install gcc")
    workshop.emit(Started(stage="download", message=f"fetching {step.source.filename}"))
    fetch = workshop.index.fetch
    return BuildRequest(
        recipe=workshop.recipe,
        step=step,
        interpreter=interpreter,
        source=fetch(step.source, workshop.cache, workshop.emit),
        kernels=fetch(step.kernels, workshop.cache, workshop.emit) if step.kernels else None,
        base=fetch(step.base, workshop.cache, workshop.emit) if step.base else None,
        statics={name: fetch(each, workshop.cache, workshop.emit) for name, each in step.statics.items()},
        chassis=fetch(step.chassis, workshop.cache, workshop.emit) if step.chassis else None,
        include_directories=brought.includes,
        library_prefix=Path(interpreter.prefix) if step.link is LinkMode.ENV else None,
        compiler=compiler,
        cache=workshop.cache,
        pip=argv_for(interpreter),
        variables=pip_environment(variables),
        emit=workshop.emit,
        offline=workshop.index.offline,
        wheelhouse=workshop.index.wheelhouse,
    )


def taken(wheel: Artefact, workshop: Workshop) -> BuildResult:
    """A wheel that is ready, by its hash."""
    path = workshop.index.fetch(wheel, workshop.cache, workshop.emit)
    return BuildResult(wheel=path, sha256=files.sha256(path), from_cache=True, features={}, log=None, seconds=0.0)
