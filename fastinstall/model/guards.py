"""What guards a stack, as `guard status` tells it."""

from fastinstall.model.immutable import immutable
from fastinstall.model.pins import GuardCost, GuardEvent, PinState


@immutable
class Guards:
    """What guards a stack.

    Attributes:
        installed: the start-up guard is there.
        version: its version; empty if it is not.
        problems: what is wrong with it.
        installed_by: the fastinstall that set it up ("fastinstall 0.6.0"); empty where nothing is set up.
        installed_at: when that was, ISO 8601, UTC; empty likewise.
        package: conda's guard package ("fastinstall-guard-1-0"); empty if it is not there.
        pins: ours, of the environment and of its project.
        cost: what a start of Python takes longer, measured here; None where it was not, or could not be measured.
        events: what the start-up guard has told, the latest first.
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()
    installed_by: str = ""
    installed_at: str = ""
    package: str = ""
    pins: tuple[PinState, ...] = ()
    cost: GuardCost | None = None
    events: tuple[GuardEvent, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of what is there has a problem."""
        return not self.problems and not any(pin.problems for pin in self.pins)
