"""Prove a recipe completely, for its maintainer: build it as setup does, and make every check."""

from dataclasses import replace
from pathlib import Path

from fastinstall.core import files, foreign, temporary_directories
from fastinstall.core.archives import unpack_zip
from fastinstall.core.codec import digest, document, dump
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Noted
from fastinstall.index.run import Run
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import Session
from fastinstall.proof.cases import Proof
from fastinstall.setup.look import look_for_wheel, open_run
from fastinstall.setup.proven_wheel import ProofContext, fetch_inputs, prepare_trial, subject_of
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from whole_proof.run import WholeProof, run_whole_proof


def prove_recipe(session: Session, name: str, target: NamedTarget, request: Request) -> Proof:
    """Build a recipe for an interpreter and prove it completely, without installing it.

    Args:
        session: environment variables, directories, clock and event listener.
        name: name of the recipe.
        target: the environment for whose interpreter the recipe is built.
        request: version, levels and other options; `name` replaces the recipe in it.

    Returns:
        The proof, which may have failed. If the same wheel and sources were proven successfully before, that proof.

    Raises:
        RefusedError: the request leads to a ready-made wheel, so there is no build to examine.
        FailedError: the recipe cannot be built.
    """
    plan = look_for_wheel(session, target, replace(request, recipe=name), anew=True)
    interpreter, step = plan.interpreter, plan.build
    for warning in plan.warnings:
        session.emit(Noted(message=warning, warning=True))
    run = open_run(session, plan.request, Path(interpreter.executable))
    if step.prebuilt is not None:
        raise RefusedError(
            f"{step.prebuilt.filename} is ready-made: a proof needs the sources", hint="drop --wheelhouse"
        )
    fetched = fetch_inputs(plan.prepare, run)
    built = step.make(interpreter, fetched, run)
    build_request = step.request_build(interpreter, fetched, run)
    return _run_proof(built, build_request, interpreter, run)


def _run_proof(built: BuildResult, request: BuildRequest, interpreter: Interpreter, run: Run) -> Proof:
    proof_context = ProofContext(interpreter=interpreter, cpu=run.cpu, reference=request.step.base_wheel)
    subject = subject_of(request.step, built, proof_context)
    # The key covers all inputs of the proof: the wheel, the circumstances, and the sources that variants are compiled
    # from.
    sources = (request.source, *request.statics.values())
    key = digest((subject, [files.sha256(path) for path in sources]))
    kept = run.cache / "proofs" / f"{key}.whole.json"
    proof = foreign.read_kept(Proof, "proof", kept)
    if proof is not None and proof.holds:
        run.emit(Noted(message=f"{built.wheel.name} was proven before: {kept}"))
        return proof
    with temporary_directories.temporary_directory("whole-proof", within=run.cache / "tmp") as space:
        tree = space / "tree"
        unpack_zip(built.wheel, tree)
        trial = prepare_trial(subject, tree, proof_context, run)
        proof = run_whole_proof(WholeProof(trial=trial, request=request, tree=tree, space=space / "build_tree"))
    files.write_text(kept, dump(document("proof", proof)))
    return proof
