"""A digest of the facts that a plan depends on, so that a plan made from other facts is refused."""

from dataclasses import replace

from fastinstall.model.codec import digest
from fastinstall.model.conda import Conda
from fastinstall.model.core import Core
from fastinstall.model.cpu import Cpu
from fastinstall.model.facts import Facts, Owner, Stack


def facts_digest(facts: Facts) -> str:
    """A sha256 over the facts, without what may change and leave every decision as it was.

    Left out: times of files, who installed what, the shell's active environments, the CPU's name, its
    cores and quota, the guards, our own place, and what is observed only when asked for (the runtime
    and the toolchain).
    """
    return digest(
        {
            "environment": facts.environment,
            "writable": facts.writable,
            "frozen": facts.frozen,
            "interrupted": facts.interrupted,
            "cpu": _cpu(facts.cpu),
            "interpreter": replace(facts.interpreter, pip_version=None),
            "distributions": [(distribution.name, distribution.version) for distribution in facts.distributions],
            "stack": _stack(facts.stack),
            "conda": _conda(facts.conda) if facts.conda is not None else None,
        }
    )


def _conda(conda: Conda) -> tuple[object, ...]:
    """What is installed and pinned; which conda there is matters only while it works."""
    return (sorted(package.dist for package in conda.packages), conda.pins, conda.claims, sorted(conda.unreadable))


def _cpu(cpu: Cpu) -> tuple[str, str | None, tuple[str, ...]]:
    return (cpu.architecture, cpu.level, tuple(sorted(cpu.flags)))


def _stack(stack: Stack) -> Stack:
    core = _core(stack.core) if stack.core is not None else None
    return replace(stack, core=core, owners=tuple(_owner(owner) for owner in stack.owners))


def _core(core: Core) -> Core:
    return replace(core, mtime_ns=0)


def _owner(owner: Owner) -> Owner:
    return replace(owner, installed_at="", distribution=replace(owner.distribution, installer="", requested=False))
