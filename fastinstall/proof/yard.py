"""What variants of a build are made of: its sources, how its core is compiled, and the official wheel to put it in."""

from dataclasses import replace
from pathlib import Path

from fastinstall.build.chassis import Chassis
from fastinstall.build.groundwork import Groundwork, Site, lay_ground
from fastinstall.build.headers import probe_headers
from fastinstall.build.request import BuildRequest
from fastinstall.build.source import extract_source
from fastinstall.build.variables import without_stray
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.proof.recording import CoreSteps, record_steps
from fastinstall.proof.runs import Stack
from fastinstall.proof.variant import Variant, compile_core, seat_core

_CODE = ("src",)


@immutable
class Yard:
    """A build, taken apart.

    Attributes:
        work: everything that was ready before it was compiled.
        steps: how the core of `target` is compiled.
        target: the level.
        source: top directory of what is compiled.
        stock: top directory of upstream's own source; None where a fork is built as it is, and it is not at hand.
        fork: of the fork's source, as it was published; None where nothing was merged.
        chassis: the unpacked official wheel.
        gcc: whether the compiler is GCC itself.
        space: a temporary directory.
    """

    work: Groundwork
    steps: CoreSteps
    target: Target
    source: Path
    stock: Path | None
    fork: Path | None
    chassis: Chassis
    gcc: bool
    space: Path

    def stack(self, name: str, variant: Variant) -> Stack:
        """Compile a variant, and put it where it can be run.

        Args:
            name: of its directory, and for messages.
            variant: what is different.

        Raises:
            FailedError: it does not compile.
        """
        core = compile_core(self.steps, variant, self.space / name / "objects")
        tree = seat_core(self.chassis, core.path, variant.source, self.space / name / "tree")
        request = self.work.ground.request
        python = Path(request.interpreter.executable)
        return Stack(label=name, python=python, tree=tree, variables=request.variables)


def open_yard(request: BuildRequest, level: str, space: Path) -> Yard | None:
    """Prepare a build once more, up to where it is compiled.

    Args:
        request: the build.
        level: of the core that is looked at.
        space: an empty directory.

    Returns:
        None where no official wheel carries the core.

    Raises:
        FailedError: it cannot be prepared.
    """
    request = replace(request, variables=without_stray(request.variables)[0])
    headers = probe_headers(request)
    work = lay_ground(Site(request=request, headers=headers, space=space, key="proof", log=space / "log"))
    if work.chassis is None:
        return None
    target = next(target for target in request.step.targets if target.level == level)
    return Yard(
        work=work,
        steps=record_steps(work, work.chassis, target),
        target=target,
        source=work.prepared.tree,
        stock=extract_source(request.source, space / "stock", only=_CODE) if _is_upstream(request) else None,
        fork=extract_source(request.kernels, space / "fork", only=_CODE) if request.kernels is not None else None,
        chassis=work.chassis,
        gcc=headers.gcc,
        space=space,
    )


def _is_upstream(request: BuildRequest) -> bool:
    """Whether the source is that of the official wheel."""
    return request.recipe.source.pypi == request.recipe.source.chassis
