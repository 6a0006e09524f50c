"""Make the wheel, or take it from the cache or the wheelhouse, by hash."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import NoReturn

from fastinstall.compilers import get_wheel_compiler, list_wheel_compilers
from fastinstall.compilers.flags import list_probed_flags
from fastinstall.compilers.system import observe_compiler
from fastinstall.core import files, process
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.process import CommandError
from fastinstall.core.surroundings import find_program
from fastinstall.core.values import immutable
from fastinstall.index.downloads import discarding_refused
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import LinkMode
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.prepare import FetchedInputs
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from fastinstall.wheelbuild.wheel_cache import locate_wheel


@immutable
class Build(WheelOrder, SetupStep):
    """Make the wheel, or take it from the cache if a cached wheel was built from the same inputs.

    Attributes:
        reason: why this version, level and link mode were chosen.
    """

    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        if self.prebuilt is not None:
            return "take its wheel as it is"
        return f"{'take it from the cache, compiled' if self.cached else 'compile it'} for {listing(self.levels)}"

    def list_details(self) -> Iterable[str]:
        """Yield the inputs of the wheel, and the compiler flags of each level."""
        if self.prebuilt is not None:
            yield self.prebuilt.filename
        if self.source is None:
            return
        yield f"from {self.source.filename}"
        if self.left_out:
            yield f"without the kernels {listing(self.left_out)}"
        if self.clang is not None:
            known = list_wheel_compilers().get(self.clang.name)
            program = known.program if known is not None else "the compiler"
            yield f"compiled by {program} of {self.clang.name} {self.clang.version}, fetched into the cache"
        if self.statics:
            linked = (f"{each.name} {each.version} for {name}" for name, each in self.statics.items())
            yield f"linked in: {listing(linked)}"
        for target in self.targets:
            yield f"{target.level}: CFLAGS={' '.join(target.cflags)!r}"

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """List the inputs of the build, or the ready-made wheel."""
        named = (self.prebuilt, self.source, *self.statics.values(), self.clang, self.base_wheel)
        return tuple(each for each in named if each is not None)

    def make(self, interpreter: Interpreter, fetched: FetchedInputs, run: Run) -> BuildResult:
        """Make the wheel, or take a ready-made or cached one.

        Raises:
            FailedError: the wheel could not be fetched or built, or contains more than Pillow.
            RefusedError: there is no usable compiler.
        """
        if self.prebuilt is not None:
            from fastinstall.index.wheelhouse import require_stack_alone  # slow to import, with packaging

            wheel = run.index.fetch(self.prebuilt, run.cache, run.emit)
            with discarding_refused(wheel):
                require_stack_alone(wheel)  # must be checked before a proof runs code of the wheel
            return BuildResult(wheel=wheel, sha256=files.sha256(wheel), from_cache=True)
        cached = self._take_from_cache(interpreter, run) if self.cached else None
        if cached is not None:
            return cached
        from fastinstall.wheelbuild.pipeline import build_wheel  # slow to import; not needed if the wheel is ready

        return build_wheel(self.request_build(interpreter, fetched, run))

    def request_build(self, interpreter: Interpreter, fetched: FetchedInputs, run: Run) -> BuildRequest:
        """Fetch the inputs of the build by their hashes, and return the request for the build pipeline.

        Raises:
            FailedError: an input could not be fetched.
            RefusedError: the plan names no source, or there is no usable compiler.
        """
        if self.source is None:
            message = "the plan names neither a source nor a wheel to take"
            raise RefusedError(message, hint="make a new plan: fastinstall plan")
        variables, fetch = {**run.variables, **fetched.variables}, run.index.fetch
        if self.clang is not None:
            wheel, architecture = fetch(self.clang, run.cache, run.emit), architecture_of(run.cpu.architecture)
            program = get_wheel_compiler(self.clang.name).prepare(wheel, run.cache, run.emit, architecture)
            variables["CC"] = shlex.quote(str(program))
        compiler = observe_compiler(list_probed_flags(run.recipe, run.cpu.architecture), variables)
        if compiler is None:
            refuse_unusable_compiler(variables)
        run.emit(Started(stage="download", message=f"fetching {self.source.filename}"))
        return BuildRequest(
            recipe=run.recipe,
            step=self,
            interpreter=interpreter,
            source=fetch(self.source, run.cache, run.emit),
            statics={name: fetch(each, run.cache, run.emit) for name, each in self.statics.items()},
            base_wheel=fetch(self.base_wheel, run.cache, run.emit) if self.base_wheel else None,
            include_directories=fetched.includes,
            header_packages=fetched.headers,
            library_prefix=interpreter.prefix if self.link is LinkMode.ENV else None,
            compiler=compiler,
            cache=run.cache,
            pip=argv_for(interpreter),
            variables=pip_environment(variables),
            emit=run.emit,
            offline=run.index.offline,
            wheelhouse=run.index.wheelhouse,
            indexes=run.index.places,
            is_foreign=run.cpu.architecture != os.uname().machine,
        )

    def _take_from_cache(self, interpreter: Interpreter, run: Run) -> BuildResult | None:
        """Return the cached wheel that the plan names; None if it is gone or has kernels that are now left out."""
        from fastinstall.wheelbuild.pipeline import find_ready  # slow to import; not needed if the wheel is ready

        for entry in find_ready(run.cache, self, run.recipe, interpreter, run.index.wheelhouse):
            if entry.sha256 == self.cached:
                run.emit(Noted(message=f"{entry.wheel} was built before: taken from the cache", detail=True))
                return BuildResult(wheel=locate_wheel(run.cache, entry), sha256=entry.sha256, from_cache=True)
        return None


def refuse_unusable_compiler(variables: Mapping[str, str]) -> NoReturn:
    """Raise an error that says why no compiler is usable.

    Raises:
        RefusedError: there is no compiler, or the compiler cannot run; the details then show its output.
    """
    named = shlex.split(variables.get("CC", ""))
    if not named or not find_program(named[0], variables):
        raise RefusedError("there is no C compiler", hint="run again with --with-system-deps, or install gcc")
    argv = (*named, "--version")
    try:
        told = process.run(argv, environment=variables, timeout=60, while_working=True).stdout.splitlines()
    except CommandError as error:
        told = [error.message, *error.details]
    hint = f"find out why: {shlex.join(argv)}; or take another compiler: --toolchain system"
    raise RefusedError(f"the C compiler {named[0]} cannot run", hint=hint, details=tuple(told))
