"""Prepare a build up to the point where the imaging core is compiled, in order to compile variants of the core."""

from dataclasses import replace
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.base_wheel import BaseWheel
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext, remove_stray_variables
from fastinstall.wheelbuild.headers import probe_headers
from fastinstall.wheelbuild.pipeline import prepare_build
from fastinstall.wheelbuild.prepare import NOT_COMPILED, extract_source
from whole_proof.recorded_build import CoreSteps, record_steps
from whole_proof.variant import SanitizedVariant, compile_core, install_core_in_copy


@immutable
class BuildTree:
    """A build that is prepared up to compilation.

    Attributes:
        work: the prepared build.
        steps: the commands that compile the core of one CPU level.
        source: top directory of the source that is compiled.
        stock: top directory of Pillow's unmodified source; None for a fork, which has none.
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
        """Compile a variant of the core, and return a stack that runs it, in a copy of the official wheel.

        Args:
            name: name of the variant's directory, also used in messages.
            variant: source and flags of the variant.

        Raises:
            FailedError: the variant does not compile.
        """
        core = compile_core(self.steps, variant, self.space / name / "objects")
        tree = install_core_in_copy(self.base_wheel, core.path, variant.source, self.space / name / "tree")
        request = self.work.request
        python = Path(request.interpreter.executable)
        return ProofStack(label=name, python=python, tree=tree, variables=request.variables)


def open_build_tree(request: BuildRequest, level: str, space: Path) -> BuildTree | None:
    """Prepare a finished build once more, for compiling variants of its core.

    Args:
        request: the build.
        level: the CPU level whose compile commands are recorded.
        space: an empty directory.

    Returns:
        The prepared build; None if the build does not place its core in an official wheel.

    Raises:
        FailedError: the build cannot be prepared.
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
