"""Carry out an accepted plan: prepare, build, prove, stage, swap, verify, commit; undo if anything fails.

The order of the steps guarantees that the environment always has a working PIL, and that a failure leaves the
environment unchanged. The package `steps` implements the steps; this module decides their order.

After the swap, doctor's checks judge the result; a receipt then records the setup.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.conda.history_file import record_revision
from fastinstall.core.codec import document
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Noted, Started, ignore
from fastinstall.core.messages import fix_command, listing
from fastinstall.core.refused_writes import explain_refusal
from fastinstall.doctor.checks.pillow_importable import list_shadow_findings
from fastinstall.doctor.registry import judge_facts
from fastinstall.guard.staged_files import stage_guard
from fastinstall.guard.status import renew_guard_files
from fastinstall.index.run import Run
from fastinstall.journal.stamp import make_stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Risk
from fastinstall.observe.environments import remember_environment
from fastinstall.observe.guard_files import GUARD_ENTRIES, render_state
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.proof.stack_operations import refuse_lost_features
from fastinstall.proof.timing import MeasuredPil
from fastinstall.setup.exclusive import ForeignChangeWatch, hold_environment_lock
from fastinstall.setup.look import open_run
from fastinstall.setup.plan import Plan, SetupOutcome
from fastinstall.setup.proven_wheel import build_and_prove, fetch_sources
from fastinstall.setup.recovery import lock_recovered_environment, report_late_interruptions
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.prove import Prove
from fastinstall.setup.steps.swap import Swap
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.staging import compile_meanwhile, describe_core, read_left_out, stack_version, stage_wheel
from fastinstall.wheelbuild.wheel_cache import keep_installed_wheel

if TYPE_CHECKING:
    from fastinstall.conda.stage import LinkedPackages


def carry_out(session: Session, plan: Plan) -> SetupOutcome:
    """Carry out a plan.

    The caller must have recovered the environment from interrupted runs, and the user must have accepted the plan
    and its risks.

    Raises:
        FailedError: something failed; the environment is unchanged.
        RefusedError: the environment is locked, or a foreign file is in the way; the environment is unchanged.
        EnvironmentDamagedError: something failed, and the changes could not be undone.
    """
    prefix = plan.environment.prefix
    with report_late_interruptions(prefix, plan.verb):
        if plan.build is None and plan.guard is not None:
            return SetupOutcome(plan=plan, receipt=renew_guard(session, plan))
        python = plan.create.python if plan.create is not None else plan.environment.python
        engine = plan.package.engine if plan.package is not None else None
        run = open_run(session, plan.request, python, engine, prefix)
        receipt, after = replace_stack(plan, run)
        remember_environment(session, plan.environment)
        _keep_ready_made_wheel(plan, run)
        return SetupOutcome(plan=plan, receipt=receipt, after=after)


def replace_stack(plan: Plan, run: Run) -> tuple[Receipt, Facts]:
    """Carry out a plan that installs a stack.

    Args:
        plan: the plan, to which the user has consented.
        run: index, cache, recipe and other resources of this run.

    Returns:
        The committed receipt, and the facts of the target after the swap, which doctor's checks have approved.

    Raises:
        FailedError: the plan lacks a step that every setup needs.
        FastinstallError: the errors of `carry_out`.
    """
    build, prove, swap, verify = plan.build, plan.prove, plan.swap, plan.verify
    if build is None or prove is None or swap is None or verify is None:
        raise FailedError("the plan lacks a step", hint="make a new plan: fastinstall plan")
    prefix, create, emit = plan.environment.prefix, plan.create, run.emit
    if create is not None:
        emit(Started(stage="environment", message=f"making the virtual environment {prefix}"))
    with (
        _explain_system_errors(prefix, run.cache),
        create.hold_place() if create is not None else nullcontext(),
        hold_environment_lock(prefix),
        create.create(make_stamp().at, partial(fetch_sources, plan.prepare, build, run))
        if create is not None
        else nullcontext(),
    ):
        # Prepare: build and prove the wheel outside the target.
        interpreter = observe_interpreter(plan.environment.python)
        watched = (*swap.entries, swap.installs, *GUARD_ENTRIES)
        watch = ForeignChangeWatch(prefix, interpreter.site_packages, watched)
        make_wheel = partial(build_and_prove, plan.prepare, build, prove.reference, interpreter, run)
        built = None if plan.builds_upon_changes else make_wheel()

        # Observe the installed files as late as this, because other programs may have changed them during the build.
        observing = ObservationRequest(recipe=run.recipe, runtime=True, interpreter=interpreter)
        before = facts_of(run.session, plan.environment, observing)
        watch.refuse_changes()
        _refuse_other_owners(prefix, swap, before)
        if plan.pin is not None and built is not None:
            plan.pin.refuse_harm(built.wheel, before, run)

        store, site_packages = JournalStore(prefix), interpreter.site_packages
        with (
            begin(store, document("plan", plan), site_packages=site_packages, stamp=make_stamp()) as transaction,
            # This context is inside `begin`, so that it handles errors first: `begin` would blame the environment even
            # if the cache's filesystem is full.
            _explain_system_errors(prefix, run.cache),
        ):
            # Stage the files on the target's filesystem; test and time the staged stack before it replaces anything.
            if built is None:
                _change_other_packages(plan, watch, transaction, run)
                built = make_wheel()
            stage, linked, receipt = _stage_stack(plan, build, prove, built, before, transaction, run)
            if plan.guard is not None:
                state = render_state(stage, receipt.core, receipt.stack_version, run.session.program)
                stage_guard(stage, state, interpreter.executable, interpreter.version)
            if not plan.builds_upon_changes:
                _change_other_packages(plan, watch, transaction, run)

            # Swap.
            emit(Started(stage="swap", message="replacing the files"))
            moves = swap.list_moves(stage, linked.root if linked is not None else None, before)
            watch.refuse_changes()
            transaction.perform(moves)
            watch.accept_changes()

            # Verify and commit; an error undoes the swap.
            with watch.require_unchanged(emit):
                if linked is not None and before.conda is not None:
                    record_revision(linked.stack, swap.records, before.conda, run.session.now(), transaction)
                if plan.pin is not None:
                    plan.pin.write(built.wheel, prefix, transaction)
                emit(Started(stage="verify", message="running doctor's checks on it"))
                after = facts_of(run.session, plan.environment, replace(observing, binaries=Binaries.DECODED))
                libraries = after.stack.core.libraries if after.stack.core is not None else ()
                jpeg = next((library for library in libraries if library.is_called_libjpeg), None)
                receipt = replace(receipt, jpeg=jpeg)
                _refuse_errors(judge_facts(run.session, after, receipt, run.recipe, verify.checks).findings, after)
            transaction.commit(receipt)
        emit(Noted(message=f"the files were replaced in {transaction.window_ns / 1e6:.2f} ms", detail=True))
        return receipt, after


def renew_guard(session: Session, plan: Plan) -> Receipt:
    """Renew the start-up guard as planned by `decide.nothing_to_do.plan_nothing`.

    Returns:
        The receipt of the stack; the stack itself does not change.

    Raises:
        RefusedError: the environment is locked, or PIL is no longer the one in the receipt; nothing was changed.
        FailedError: something failed; the environment is unchanged.
    """
    prefix = plan.environment.prefix
    checks = plan.verify.checks if plan.verify is not None else ()
    with lock_recovered_environment(session, plan.environment) as result:
        store = result.store
        receipt = store.read_receipt()
        request = ObservationRequest(recipe=recipe_named(session, plan.request.recipe))
        facts = facts_of(session, plan.environment, request)
        core = facts.stack.core
        if receipt is None or core is None or core.sha256 != receipt.core.sha256:
            raise RefusedError("PIL has changed since the plan was made", hint=fix_command(prefix))
        site_packages = facts.interpreter.site_packages
        with begin(store, document("plan", plan), site_packages=site_packages, stamp=make_stamp()) as transaction:
            renew_guard_files(store, facts, receipt, transaction, session.program)
            after = facts_of(session, plan.environment, request)
            _refuse_errors(judge_facts(session, after, receipt, request.recipe, checks).findings, after)
            transaction.commit(receipt)
    return receipt


def _refuse_other_owners(prefix: Path, swap: Swap, before: Facts) -> None:
    """Raise RefusedError unless PIL is provided by exactly the distributions that the user agreed to replace."""
    planned, found = set(swap.removes), {owner.distribution.metadata for owner in before.stack.owners}
    if planned != found:
        there, then = (listing(sorted(names)) or "no Pillow" for names in (found, planned))
        message = f"{prefix}: {there} is there now, but the plan was made for {then}"
        raise RefusedError(message, hint="make a new plan: fastinstall plan")


def _change_other_packages(plan: Plan, watch: ForeignChangeWatch, transaction: Transaction, run: Run) -> None:
    """Change other conda packages in the plan's order. If several contain the same file, the last one provides it."""
    for step in plan.change:
        watch.refuse_changes()
        step.change_packages(plan.environment.prefix, transaction, run)
        watch.accept_changes()


def _stage_stack(
    plan: Plan, build: Build, prove: Prove, built: BuildResult, before: Facts, transaction: Transaction, run: Run
) -> tuple[Path, "LinkedPackages | None", Receipt]:
    """Stage the wheel or its conda packages, test the staged PIL with real operations, and time it.

    Returns:
        The staging directory, laid out as site-packages; the staged conda packages, or None for a wheel; and the
        receipt, complete except for its libjpeg, which is observed after the swap.

    Raises:
        FailedError: the staged PIL does not work, computes wrong results, or lacks a feature of the installed PIL.
    """
    interpreter, linked = before.interpreter, None
    if plan.package is None:
        run.emit(Started(stage="stage", message=f"staging {built.wheel.name}"))
        stage, made_here = transaction.stage, built.sha256 if build.prebuilt is None else ""
        metadata = stage_wheel(built.wheel, stage, interpreter, made_here)
    else:
        linked = plan.package.link(built, before, transaction, run)
        stage, metadata = linked.site_packages, linked.metadata
    with compile_meanwhile(stage, interpreter) if linked is None else nullcontext():
        core = describe_core(stage, interpreter, run.recipe.expect.symbols)
        runtime = prove.run_operations(stage, built, before, run)
    if before.runtime is not None:
        allowed = Risk.FEATURE_LOSS in plan.request.allow
        refuse_lost_features(before.runtime.features, runtime.features, allowed=allowed)
    python = interpreter.executable
    ours = MeasuredPil(label=f"{build.distribution} {build.version}", python=python, stage=stage)
    artefact = build.source or build.prebuilt
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in before.stack.owners]
    receipt = Receipt(
        id=transaction.id,
        created_at=transaction.at,
        tool_version=__version__,
        environment=plan.environment,
        request=replace(plan.request, upgrade=False),  # the upgrade is done: later repairs must not upgrade
        recipe=build.recipe,
        source_version=artefact.version if artefact is not None else "",
        distribution=build.distribution,
        version=build.version,
        metadata=metadata,
        levels=build.levels,
        left_out=read_left_out(stage, metadata),
        link=build.link,
        wheel=built.wheel.name,
        wheel_sha256=built.sha256,
        python_version=interpreter.version,
        core=core,
        stack_version=stack_version(stage),
        features=runtime.features,
        speed=prove.time(ours, built, before, run),
        previous=", ".join(owners),
        engine=plan.package.engine if plan.package is not None else CondaInstaller.PIP,
        conda=linked.stack if linked is not None else None,
    )
    return stage, linked, receipt


def _refuse_errors(findings: Iterable[Finding], facts: Facts) -> None:
    """Raise if a check reports an error; the caller then undoes the swap.

    Errors about another PIL that hides the installed one from programs do not count: the plan has warned of that PIL,
    and the swap neither causes nor removes such errors.

    Raises:
        FailedError: a check reports an error; the details list all such errors.
    """
    excused = list_shadow_findings(facts)
    wrong = [each for each in findings if each.status.gravity >= Status.ERROR.gravity and each not in excused]
    if wrong:
        raise FailedError(
            "doctor found an error after the installation, so it was undone",
            hint="report it with the output of: fastinstall inspect --redact",
            details=tuple(f"{finding.check}: {finding.message}" for finding in wrong),
        )


def _keep_ready_made_wheel(plan: Plan, run: Run) -> None:
    """Keep a ready-made wheel in the cache, so that repairs need not download it again."""
    prebuilt = plan.build.prebuilt if plan.build is not None else None
    if prebuilt is None:
        return
    try:
        wheel = run.index.fetch(prebuilt, run.cache, ignore)
        keep_installed_wheel(run.cache, plan.environment.prefix, wheel, prebuilt.sha256)
    except (OSError, FailedError) as error:
        run.emit(Noted(message=f"{prebuilt.filename} is not kept for repairs: {error}", warning=True))


@contextmanager
def _explain_system_errors(prefix: Path, cache: Path) -> Iterator[None]:
    """Turn system errors in the environment or the cache (a full disk, a quota) into fastinstall's own errors."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output has gone: environment and cache are not to blame
        raise
    except OSError as error:
        raise explain_refusal(error, cache, (prefix,)) from error
