"""The whole proof of a recipe, for who maintains one: it is built as setup would build it, and everything is tried."""

from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel, request_for
from fastinstall.actions.proven import Ground, subject_of, trial_of
from fastinstall.actions.workshop import Workshop
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import plan_build
from fastinstall.api.session import Session
from fastinstall.api.setup import workshop_for
from fastinstall.api.target import Target
from fastinstall.build.request import BuildRequest, BuildResult
from fastinstall.build.wheel import unpack_wheel
from fastinstall.errors import DocumentError, RefusedError
from fastinstall.model.codec import digest, document, dump, open_document
from fastinstall.model.event import Noted
from fastinstall.model.facts import Interpreter
from fastinstall.model.parsing import json_data
from fastinstall.model.proof import Proof, ProofSubject
from fastinstall.model.steps import Build
from fastinstall.model.wish import Wish
from fastinstall.proof.whole import Case, whole_proof
from fastinstall.system import files, foreign


def prove_recipe(session: Session, name: str, target: Target, wish: Wish) -> Proof:
    """Build what a recipe makes for an interpreter, and prove it in every way; nothing is installed.

    Args:
        session: the outside world.
        name: of the recipe.
        target: its interpreter is the one that is built for.
        wish: version, levels and the like; its recipe is not looked at.

    Returns:
        The proof, which may have failed; one that was made before of the same bytes is given again.

    Raises:
        RefusedError: the wheel is taken ready-made, so there is no build to take apart.
        FailedError: it cannot be built.
    """
    plan, interpreter = plan_build(session, target, replace(wish, recipe=name), anew=True)
    for warning in plan.warnings:
        session.emit(Noted(message=warning, warning=True))
    workshop = workshop_for(session, plan, recipe_named(session, name))
    step = next(step for step in plan.steps if isinstance(step, Build))
    if step.prebuilt is not None:
        raise RefusedError(
            f"{step.prebuilt.filename} is ready-made: a proof needs the sources", hint="leave out --wheelhouse"
        )
    brought = bring_headers(plan, workshop)
    built = make_wheel(step, interpreter, brought, workshop)
    request = request_for(step, interpreter, brought, workshop)
    return _proven(built, request, interpreter, workshop)


def _proven(built: BuildResult, request: BuildRequest, interpreter: Interpreter, workshop: Workshop) -> Proof:
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=request.step.chassis)
    subject = subject_of(request.step, built, ground)
    kept = workshop.cache / "proofs" / f"{_key(subject, request)}.whole.json"
    proof = _read(kept)
    if proof is not None and proof.holds:
        workshop.emit(Noted(message=f"{built.wheel.name} was proven before: {kept}"))
        return proof
    with files.temporary_directory("whole-proof", within=workshop.cache / "tmp") as space:
        tree = space / "tree"
        unpack_wheel(built.wheel, tree)
        trial = trial_of(subject, tree, ground, workshop)
        proof = whole_proof(Case(trial=trial, request=request, tree=tree, space=space / "yard"))
    files.write_text(kept, dump(document("proof", proof)))
    return proof


def _key(subject: ProofSubject, request: BuildRequest) -> str:
    """Everything that the proof speaks of: the wheel and its circumstances, and the sources of its variants."""
    sources = (request.source, request.kernels, request.base, *request.statics.values())
    return digest((subject, [files.sha256(path) for path in sources if path is not None]))


def _read(path: Path) -> Proof | None:
    try:
        return open_document(Proof, "proof", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # not there, or of another time: it is proven again
