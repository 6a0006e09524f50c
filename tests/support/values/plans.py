"""Plans with few steps."""

from typing import Any

from fastinstall.setup.decide.build import complete_build
from fastinstall.setup.decide.planner import decide, make_plan
from fastinstall.setup.plan import Plan, Situation
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages, MakeCondaPackages
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.pin import Pin, PinForPip
from fastinstall.setup.steps.prepare import PreparingStep
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap

_ONE_EACH: dict[str, type[SetupStep] | tuple[type[SetupStep], ...]] = {
    "create": CreateEnvironment,
    "build": Build,
    "prove": Prove,
    "package": MakeCondaPackages,
    "swap": Swap,
    "guard": InstallGuard,
    "pin": (Pin, PinForPip),
    "verify": Verify,
}
PARTS = {*_ONE_EACH, "prepare", "change"}
"""Fields of a plan that contain steps."""


def parts_of(*steps: SetupStep) -> dict[str, Any]:
    """Return the fields of a plan that has exactly these steps."""
    return {
        **{name: next((step for step in steps if isinstance(step, kind)), None) for name, kind in _ONE_EACH.items()},
        "prepare": tuple(step for step in steps if isinstance(step, PreparingStep)),
        "change": tuple(step for step in steps if isinstance(step, ChangeCondaPackages)),
    }


def plan_of(situation: Situation, cached: str = "") -> Plan:
    """Make the plan for a situation; `cached` is the hash of a cached wheel that equals the wheel to build."""
    return make_plan(situation, complete_build(decide(situation), cached))
