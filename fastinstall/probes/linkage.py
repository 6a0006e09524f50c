"""What a process of the target that imports PIL would load."""

from fastinstall.model.facts import Interpreter, Stack
from fastinstall.model.linkage import Linkage
from fastinstall.probes.stack import Loader


def observe_linkage(interpreter: Interpreter, stack: Stack, loader: Loader) -> Linkage:  # noqa: ARG001
    """Placeholder of the lead; [LIBRARIES] overwrites this file."""
    return Linkage(problem="not simulated")
