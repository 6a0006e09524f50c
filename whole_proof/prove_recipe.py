"""The complete proof of a recipe, for its maintainer: build it as setup does, and try everything."""

from dataclasses import replace

from fastinstall.apply.carry_out import make_execution_context
from fastinstall.apply.proven_wheel import ProofContext, fetch_inputs, prepare_trial, subject_of
from fastinstall.core import files, foreign, temporary_directories
from fastinstall.core.codec import digest, document, dump
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Noted
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import Session
from fastinstall.plan.make import plan_build
from fastinstall.proof.cases import Proof
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import get_required_step
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from fastinstall.wheelbuild.wheel_files import unpack_wheel
from whole_proof.run import WholeProof, run_whole_proof


def prove_recipe(session: Session, name: str, target: NamedTarget, request: Request) -> Proof:
    """Build a recipe for an interpreter and prove it completely, without installing it.

    Args:
        session: the outside world.
        name: of the recipe.
        target: its interpreter is the one that is built for.
        request: version, levels and the like; its recipe is ignored.

    Returns:
        The proof, which may have failed, or an earlier successful proof of the same bytes.

    Raises:
        RefusedError: the wheel is ready-made, so there is no build to examine.
        FailedError: it cannot be built.
    """
    plan, interpreter = plan_build(session, target, replace(request, recipe=name), anew=True)
    for warning in plan.warnings:
        session.emit(Noted(message=warning, warning=True))
    context = make_execution_context(session, plan)
    step = get_required_step(plan.steps, Build)
    if step.prebuilt is not None:
        raise RefusedError(
            f"{step.prebuilt.filename} is ready-made: a proof needs the sources", hint="drop --wheelhouse"
        )
    fetched = fetch_inputs(plan.steps, context)
    built = step.make(interpreter, fetched, context)
    build_request = step.request_build(interpreter, fetched, context)
    return _run_proof(built, build_request, interpreter, context)


def _run_proof(built: BuildResult, request: BuildRequest, interpreter: Interpreter, context: ExecutionContext) -> Proof:
    proof_context = ProofContext(interpreter=interpreter, cpu=context.cpu, reference=request.step.base_wheel)
    subject = subject_of(request.step, built, proof_context)
    # Everything that the proof speaks of: the wheel and its circumstances, and the sources of its variants.
    sources = (request.source, *request.statics.values())
    key = digest((subject, [files.sha256(path) for path in sources]))
    kept = context.cache / "proofs" / f"{key}.whole.json"
    proof = foreign.read_kept(Proof, "proof", kept)
    if proof is not None and proof.holds:
        context.emit(Noted(message=f"{built.wheel.name} was proven before: {kept}"))
        return proof
    with temporary_directories.temporary_directory("whole-proof", within=context.cache / "tmp") as space:
        tree = space / "tree"
        unpack_wheel(built.wheel, tree)
        trial = prepare_trial(subject, tree, proof_context, context)
        proof = run_whole_proof(WholeProof(trial=trial, request=request, tree=tree, space=space / "build_tree"))
    files.write_text(kept, dump(document("proof", proof)))
    return proof
