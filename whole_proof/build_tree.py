"""A build taken apart, up to where it is compiled: what its variants are made from."""

from dataclasses import replace
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.base_wheel import BaseWheel
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext
from fastinstall.wheelbuild.headers.probe import probe_headers
from fastinstall.wheelbuild.pipeline import prepare_build
from fastinstall.wheelbuild.prepare import NOT_COMPILED, extract_source
from fastinstall.wheelbuild.variables import remove_stray_variables
from whole_proof.recorded_build import CoreSteps, record_steps
from whole_proof.variant import SanitizedVariant, compile_core, install_core_in_copy


@immutable
class BuildTree:
    """A build, taken apart.

    Attributes:
        work: everything that was ready before it was compiled.
        steps: how the core of one level is compiled.
        source: top directory of what is compiled.
        stock: top directory of upstream's own source; None if a fork is built as it is, and it is not at hand.
        base_wheel: the unpacked official wheel.
        space: a temporary directory.
    """

    work: BuildContext
    steps: CoreSteps
    source: Path
    stock: Path | None
    base_wheel: BaseWheel
    space: Path

    def stack(self, name: str, variant: SanitizedVariant) -> ProofStack:
        """Compile a variant, and put it where it can be run.

        Args:
            name: of its directory, and for messages.
            variant: what is different.

        Raises:
            FailedError: it does not compile.
        """
        core = compile_core(self.steps, variant, self.space / name / "objects")
        tree = install_core_in_copy(self.base_wheel, core.path, variant.source, self.space / name / "tree")
        request = self.work.request
        python = Path(request.interpreter.executable)
        return ProofStack(label=name, python=python, tree=tree, variables=request.variables)


def open_build_tree(request: BuildRequest, level: str, space: Path) -> BuildTree | None:
    """Prepare a build once more, up to where it is compiled.

    Args:
        request: the build.
        level: of the core that is looked at.
        space: an empty directory.

    Returns:
        None if no official wheel carries the core.

    Raises:
        FailedError: it cannot be prepared.
    """
    request = replace(request, variables=remove_stray_variables(request.variables)[0])
    headers = probe_headers(request)
    work = prepare_build(request, headers, space=space, plain=space, key="proof", log=space / "log")
    if work.base_wheel is None:
        return None
    target = next(target for target in request.step.targets if target.level == level)
    return BuildTree(
        work=work,
        steps=record_steps(work, work.base_wheel, target),
        source=work.source,
        stock=extract_source(request.source, space / "stock", but=NOT_COMPILED) if request.recipe.is_exact else None,
        base_wheel=work.base_wheel,
        space=space,
    )
