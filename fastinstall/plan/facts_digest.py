"""What a plan was made from, as one digest: a plan made from other facts is refused."""

from dataclasses import replace

from fastinstall.core.codec import digest
from fastinstall.model.facts import Facts, InstalledStack


def compute_facts_digest(facts: Facts) -> str:
    """Return a SHA-256 over the facts that a decision depends on.

    Left out: times of files and their inodes, which a copy of the environment has anew; installers, the shell's active
    environments, the CPU's name, cores and quota, the guards, fastinstall's own location, and what is observed only on
    request (the runtime and the toolchain).
    """
    conda, cpu = facts.conda, facts.cpu
    known = None
    if conda is not None:  # which conda it is matters only while it works
        packages = sorted(package.dist for package in conda.packages)
        known = (packages, conda.pins, conda.claims, sorted(conda.unreadable))
    return digest(
        {
            "environment": facts.environment,
            "writable": facts.writable,
            "frozen": facts.frozen,
            "interrupted": facts.interrupted,
            "cpu": (cpu.architecture, cpu.level, tuple(sorted(cpu.flags))),
            "interpreter": replace(facts.interpreter, pip_version=None),
            "distributions": [(distribution.name, distribution.version) for distribution in facts.distributions],
            "stack": _reduce_stack(facts.stack),
            "conda": known,
        }
    )


def _reduce_stack(stack: InstalledStack) -> InstalledStack:
    core = stack.core
    if core is not None:
        core = replace(core, mtime_ns=0, libraries=tuple(replace(each, inode=0) for each in core.libraries))
    owners = (
        replace(owner, installed_at="", distribution=replace(owner.distribution, installer="", requested=False))
        for owner in stack.owners
    )
    return replace(stack, core=core, owners=tuple(owners))
