"""Bring what a build needs, as the steps of a plan say: system packages, headers, a toolchain, sources."""

from collections.abc import Iterable, Sequence

from fastinstall.index.execution import ExecutionContext
from fastinstall.steps.build import Build
from fastinstall.steps.kind import FetchedInputs
from fastinstall.steps.kinds import Preparing, Step, find_step, get_required_step
from fastinstall.steps.private_headers import PrivateHeaders


def fetch_inputs(steps: Iterable[Step], context: ExecutionContext) -> FetchedInputs:
    """Install system packages, unpack private headers and make a private toolchain, as the steps of a plan say.

    Raises:
        FastinstallError: something cannot be had; nothing of the target is touched.
    """
    fetched = [step.fetch(context) for step in steps if isinstance(step, Preparing)]
    return FetchedInputs(
        includes=tuple(directory for each in fetched for directory in each.includes),
        headers=tuple(package for each in fetched for package in each.headers),
        variables={name: value for each in fetched for name, value in each.variables.items()},
    )


def fetch_sources(steps: Sequence[Step], context: ExecutionContext) -> None:
    """Download what the wheel will be made of into the cache, if it has to be made.

    C headers come first: they come from a place of their own, and are small.

    Raises:
        FastinstallError: something cannot be had.
    """
    step, headers = get_required_step(steps, Build), find_step(steps, PrivateHeaders)
    if step.cached:
        return
    if headers is not None:
        headers.fetch_packages(context)
    for artefact in step.list_artefacts():
        context.index.fetch(artefact, context.cache, context.emit)
