"""What a setup leaves on record."""

from dataclasses import replace

from fastinstall import __version__
from fastinstall.actions.staging import Staged
from fastinstall.actions.steps import required_step, step_of
from fastinstall.journal.stamp import Stamp
from fastinstall.model.conda import Engine
from fastinstall.model.core import Library
from fastinstall.model.facts import Facts
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.steps import Build, MakeCondaPackages


def receipt_for(plan: Plan, staged: Staged, before: Facts, stamp: Stamp) -> Receipt:
    """The receipt of a transaction.

    Args:
        plan: what was carried out.
        staged: what came in.
        before: the target as it was.
        stamp: the transaction's identity.
    """
    step = required_step(plan, Build)
    artefact = step.source or step.prebuilt
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in before.stack.owners]
    return Receipt(
        id=stamp.id,
        created_at=stamp.at,
        tool_version=__version__,
        environment=plan.environment,
        wish=replace(plan.wish, upgrade=False),  # it has been answered, and a repair must not ask again
        recipe=step.recipe,
        source_version=artefact.version if artefact is not None else "",
        distribution=step.distribution,
        version=step.version,
        metadata=staged.tree.metadata,
        levels=step.levels,
        kernels=staged.origin.kernels,
        left_out=staged.origin.left_out,
        link=step.link,
        wheel=staged.built.wheel.name,
        wheel_sha256=staged.built.sha256,
        python_version=before.interpreter.version,
        core=staged.core,
        stack_version=staged.stack_version,
        features=staged.runtime.features,
        speed=staged.speed,
        previous=", ".join(owners),
        engine=_engine(plan),
        conda=staged.tree.linked.stack if staged.tree.linked is not None else None,
    )


def loaded_jpeg(facts: Facts) -> Library | None:
    """The libjpeg that the core in place resolves to."""
    libraries = facts.stack.core.libraries if facts.stack.core is not None else ()
    return next((library for library in libraries if library.is_called_libjpeg), None)


def _engine(plan: Plan) -> Engine:
    making = step_of(plan, MakeCondaPackages)
    return making.engine if making is not None else Engine.PIP
