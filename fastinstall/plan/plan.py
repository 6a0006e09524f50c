"""A plan: the steps of a setup, in order and with reasons, as data that can be saved, read and refused.

It bears a digest of the facts that it depends on: a plan made from other facts is refused, and so is one that differs
from what would be planned now.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.core.codec import digest, encode
from fastinstall.core.values import immutable, keyed
from fastinstall.model.facts import Environment, Facts, InstalledStack
from fastinstall.model.request import PlanRisk, Request
from fastinstall.steps.kinds import Step


@immutable
class Skipped:
    """A step that is not needed, and why."""

    step: str
    reason: str


@immutable
class Plan:
    """What will be done to an environment.

    Attributes:
        environment: the environment that is changed, or that the first step makes.
        facts_digest: of the facts that it was made from; `apply` refuses it if they changed.
        request: the request that it answers.
        steps: in order; empty if there is nothing to do.
        skipped: what was not needed, and why.
        risks: what needs to be allowed by name, allowed or not.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: what the plan does, in one sentence.
        verb: the command, for the list of setups that can be undone.
    """

    environment: Environment
    facts_digest: str
    request: Request = keyed("wish")
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    risks: tuple[PlanRisk, ...] = keyed("hazards", default=())
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"

    def was_made_from(self, facts: Facts) -> bool:
        """Tell whether the facts that a decision depends on are those that it was made from."""
        return compute_facts_digest(facts) == self.facts_digest


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


_UNJUDGED = frozenset(
    {"reason", "jobs", "url", "mirrors", "provenance", "index", "size", "facts_digest", "allow", "allowed", "python"}
)
"""Keys that may differ: texts, the machine's limits, the location of a file with the same hash, and what is checked
elsewhere (the digest of the facts, accepted risks, the interpreter's name)."""

_BRIEF = 200


def find_differences(saved: Plan, anew: Plan) -> Iterator[tuple[str, str]]:
    """Yield where a saved plan differs from what is decided now, as dotted key and both values.

    Extra warnings do not count: they may concern a later release, which is no longer considered.
    """
    missing = [warning for warning in anew.warnings if warning not in saved.warnings]
    yield from (("warnings", f"missing: {warning}") for warning in missing)
    one, other = (encode(replace(each, warnings=())) for each in (saved, anew))
    yield from _compare_values(one, other, "")


def _compare_values(saved: object, anew: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(saved, dict) and isinstance(anew, dict):
        for name in {**anew, **saved}:
            if name not in _UNJUDGED:
                yield from _compare_values(saved.get(name), anew.get(name), f"{key}.{name}" if key else name)
    elif isinstance(saved, list) and isinstance(anew, list) and len(saved) == len(anew):
        for index, (one, other) in enumerate(zip(saved, anew, strict=True)):
            yield from _compare_values(one, other, f"{key}[{index}]")
    elif saved != anew:
        yield key, f"expected {_abbreviate_value(anew)}, found {_abbreviate_value(saved)}"


def _abbreviate_value(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "none"
    text = str(value.get("kind") or value.get("risk") or value) if isinstance(value, dict) else repr(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."
