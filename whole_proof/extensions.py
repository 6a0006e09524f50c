"""Disable some extensions of this CPU, and compare the kernels' results with those of the official wheel.

A kernel may have several variants of a function, and choose one by the extensions that the CPU has. To test variants
that would not be chosen on this CPU, the core is compiled with test switches, which shipped builds do not have.
"""

import time

from fastinstall.model.recipe import Recipe
from fastinstall.proof.cases import ProofCheck, check_of, operation_of, skip_proof_check
from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.quick import ProofDepth, prove_matrix, read_members
from fastinstall.proof.runs import ProofStack, Results, Work
from fastinstall.wheelbuild.prepare import list_kernel_sources
from whole_proof.build_tree import BuildTree
from whole_proof.variant import SanitizedVariant

EXTENSIONS = "extensions"
TEST_SWITCHES = "-DFI_TEST_SWITCHES"
"""Compiler flag that enables the test switches of recipes/kernels/cpu.h."""
VARIABLE = "FI_EXTENSIONS"
"""Environment variable that says which extensions such a build may use."""

_ALLOWED = ("avx512", "avxvnni", "none")
_CHOOSES = "FI_AT_LOAD("


def prove_extensions(build_tree: BuildTree, reference: ProofStack, effort: ProofDepth) -> ProofCheck:
    """Compare the build with the official wheel for each set of allowed extensions, in operations with kernel variants.

    Raises:
        FailedError: the build does not compile with test switches, or PIL cannot be imported.
    """
    begun = time.monotonic()
    operations = list_operations(build_tree.work.request.recipe)
    if not operations:
        return skip_proof_check(EXTENSIONS, "no kernel of this recipe has variants")
    stack = build_tree.stack(EXTENSIONS, SanitizedVariant(source=build_tree.source, flags=(TEST_SWITCHES,)))
    cases = matrix_cases(sizes=effort.sizes, members=read_members(reference))
    work = Work(cases=tuple(case for case in cases if operation_of(case).startswith(operations)))
    with Results() as results:
        differences = tuple(
            difference
            for allowed in _ALLOWED
            for difference in prove_matrix(
                stack.with_variables({VARIABLE: allowed}), reference, work, results, exact=True
            )
        )
    passed = f"{len(work.cases)} cases are as on {reference.label} with each of {', '.join(_ALLOWED)}"
    return check_of(EXTENSIONS, passed, differences, time.monotonic() - begun)


def list_operations(recipe: Recipe) -> tuple[str, ...]:
    """Return name prefixes of the operations whose kernels have several variants."""
    texts = {source.stem: source.read_text("utf-8") for source in list_kernel_sources(recipe)}
    return tuple(name for kernel in recipe.kernels if _CHOOSES in texts[kernel.name] for name in kernel.operations)
