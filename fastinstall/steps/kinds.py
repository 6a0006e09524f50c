"""Every kind of step, by the stage of a setup at which it works, and steps looked up by their kind.

Another kind is a file in this package and a word in one of these unions; mypy says what it lacks.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from fastinstall.core.errors import FailedError
from fastinstall.core.values import tag_of
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.pin import Pin
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.system_packages import SystemPackages
from fastinstall.steps.verify import Verify

if TYPE_CHECKING:
    from fastinstall.steps.kind import PreparingStep, RecordingStep, StepKind

Preparing = SystemPackages | PrivateHeaders | CondaToolchain
"""Before the build: they fetch what it needs."""

Recording = Pin | PinForPip
"""Behind the swap: they write down in the environment that the stack shall stay."""

Guiding = Build | Prove | MakeCondaPackages | ChangeCondaPackages | Swap | InstallGuard
"""Between them, at places of their own, which the orchestrator knows by name."""

Preliminary = Build | PrivateHeaders | CondaToolchain | Prove | Verify
"""They work in the cache, or look only: the target stays as it is."""

Step = CreateEnvironment | Preparing | Guiding | Recording | Verify

S = TypeVar("S", bound=Step)


def find_step(steps: Iterable[Step], kind: type[S]) -> S | None:
    """Return the first step of this kind, or None if there is none."""
    return next((step for step in steps if isinstance(step, kind)), None)


def get_required_step(steps: Iterable[Step], kind: type[S]) -> S:
    """Return the step of that kind.

    Raises:
        FailedError: there is none.
    """
    step = find_step(steps, kind)
    if step is None:
        raise FailedError(f"the plan has no step {tag_of(kind)!r}", hint="make a new plan: fastinstall plan")
    return step


if TYPE_CHECKING:

    def _check_every_kind(step: Step, preparing: Preparing, recording: Recording) -> None:
        """Have mypy check that each kind keeps the protocol."""
        _has_what_all_have: StepKind = step
        _prepares: PreparingStep = preparing
        _records: RecordingStep = recording
