"""What to do about a finding, as a command that can be pasted, for the kind of environment it is."""

import shlex

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Remedy
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.conda_dependants import dependants_of
from fastinstall.rules.upgrading import requirement

_NEW_ENVIRONMENT = "fastinstall setup --new-env ./fast-env"


def command(context: CheckContext, words: str, *options: str) -> str:
    """Word a command of ours on this environment; `words` are its verb and fixed flags."""
    return shlex.join(("fastinstall", *words.split(), "--prefix", str(context.facts.environment.prefix), *options))


def repair(context: CheckContext) -> Remedy:
    """Bring back a working stack: ours where we set one up, a whole one elsewhere."""
    if context.receipt is not None:
        return Remedy(text="put back what was set up here", command=command(context, "doctor --fix"))
    if not may_be_changed(context.facts) or context.facts.cpu.architecture != "x86_64":
        return stock(context)
    return Remedy(text="put a whole stack in its place", command=command(context, "setup"))


def setup(context: CheckContext, text: str, *options: str) -> Remedy:
    """Set up the fast stack here, or beside it where this environment is not ours to change."""
    if not may_be_changed(context.facts):
        return Remedy(text=f"{text}, in an environment of its own", command=_NEW_ENVIRONMENT)
    return Remedy(text=text, command=command(context, "setup", *options))


def reinstalled(context: CheckContext, text: str, *names: str) -> Remedy:
    """Have conda's packages put their files back: by the repair that has the stack put in, else by conda alone."""
    if may_be_changed(context.facts) and not context.core_is_ours:
        return Remedy(text=text, command=command(context, "doctor --fix"))
    from fastinstall.rules.conda_names import conda_command  # noqa: PLC0415 (only in conda environments)

    words = conda_command(context.facts, "install", "--force-reinstall", "--no-deps", *names)
    return Remedy(text=text, command=words)


def may_be_changed(facts: Facts) -> bool:
    """Whether a setup would not be refused for what this environment is: a venv, or a conda environment of a user's."""
    if facts.environment.kind is EnvironmentKind.CONDA:
        return facts.frozen is None and not (facts.conda is not None and facts.conda.is_base)
    protected = facts.interpreter.externally_managed is not None or facts.frozen is not None
    return facts.environment.kind is EnvironmentKind.VENV and not protected


def stock(context: CheckContext, *, upgrade: bool = False, least: str = "") -> Remedy:
    """Stock Pillow, again or a later one, by whoever manages this environment, and as its distributions allow.

    Args:
        context: what is examined.
        upgrade: whether a later one is meant.
        least: the version that is meant at least; empty for any.
    """
    facts, text = context.facts, "install a later Pillow" if upgrade else "install Pillow again"
    if facts.environment.kind is EnvironmentKind.CONDA:
        return Remedy(text=text, command=_conda(facts, upgrade=upgrade, least=least))
    if facts.interpreter.externally_managed is not None:
        return Remedy(text=f"{text}, with the operating system's package manager")
    python, wanted = str(facts.environment.python), requirement("pillow", dependants_of(facts))
    if facts.interpreter.pip_version is None:
        how = ("--upgrade",) if upgrade else ("--reinstall-package", "pillow")
        return Remedy(text=text, command=shlex.join(("uv", "pip", "install", "--python", python, *how, wanted)))
    again = "--upgrade" if upgrade else "--force-reinstall"
    return Remedy(text=text, command=shlex.join((python, "-m", "pip", "install", again, "--no-deps", wanted)))


def _conda(facts: Facts, *, upgrade: bool, least: str) -> str:
    """Conda's solver keeps to what conda's packages require; what pip has installed it does not see."""
    from fastinstall.rules.conda_names import conda_command  # noqa: PLC0415 (only in conda environments)

    wanted = requirement("pillow", dependants_of(facts), least)
    if upgrade:
        return conda_command(facts, "update" if wanted == "pillow" else "install", wanted)
    return conda_command(facts, "install", "--force-reinstall", "--no-deps", wanted)
