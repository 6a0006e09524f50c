"""What was decided, as the step of a plan that makes the wheel. Pure."""

from collections.abc import Collection, Iterator

from fastinstall.model.facts import Facts
from fastinstall.model.steps import Build, Target
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.rules.decision import Decision
from fastinstall.rules.flags import compile_flags, probed_flags
from fastinstall.rules.labels import labelled_version
from fastinstall.rules.versions import Choice


def build_step(decision: Decision) -> Build:
    """The step that makes the wheel, or takes it as it is.

    Raises:
        RefusedError: the compiler is too old for a level.
    """
    recipe, wish, choice = decision.situation.recipe, decision.situation.wish, decision.choice
    prebuilt = choice.prebuilt
    made = labelled_version(recipe, choice.version, decision.levels.names, wish.dist_name)
    return Build(
        recipe=recipe.name,
        source=choice.source,
        kernels=choice.kernels,
        base=choice.base,
        statics=decision.statics.of(decision.native.enabled),
        chassis=choice.chassis if wish.link is LinkMode.BUNDLE else None,
        prebuilt=prebuilt,
        cached=decision.situation.cached or "",
        distribution=prebuilt.name if prebuilt else wish.dist_name,
        version=prebuilt.version if prebuilt else made,
        targets=_targets(decision),
        link=wish.link,
        libraries=decision.native.enabled,
        jobs=wish.jobs or _jobs(decision.situation.facts),
        reason="; ".join(_reasons(decision)),
    )


def _targets(decision: Decision) -> tuple[Target, ...]:
    recipe, toolchain = decision.situation.recipe, decision.situation.facts.toolchain
    if decision.choice.prebuilt is not None:
        return tuple(Target(level=name, cflags=(), ldflags=()) for name in decision.levels.names)
    compiler = toolchain.compiler if toolchain else None
    # Where system packages will bring the compiler, the preferred flags are planned: today's compilers know them.
    accepts: Collection[str] = compiler.accepts if compiler else probed_flags(recipe)
    found = []
    for level in decision.levels.levels:
        cflags, ldflags = compile_flags(recipe, level, accepts, compiler=compiler.version if compiler else "")
        found.append(Target(level=level.name, cflags=cflags, ldflags=ldflags))
    return tuple(found)


def _reasons(decision: Decision) -> Iterator[str]:
    choice = decision.choice
    yield choice.reason
    if choice.caution:
        yield choice.caution
    yield decision.levels.reason
    yield from decision.statics.reasons
    if decision.situation.cached:
        yield "it was built before, so it comes from the cache, and neither compiler nor headers are needed"
    yield _link_reason(decision.situation.wish, choice)


def _jobs(facts: Facts) -> int:
    granted = facts.cpu.cores if facts.cpu.quota is None else min(facts.cpu.cores, round(facts.cpu.quota))
    return max(1, granted)


def _link_reason(wish: Wish, choice: Choice) -> str:
    if choice.prebuilt is not None:
        return "already built, so nothing is compiled"
    if wish.link is not LinkMode.BUNDLE:
        return f"linked to the libraries of the {'environment' if wish.link is LinkMode.ENV else 'system'}, as asked"
    if choice.chassis is not None:
        return f"put into the official wheel {choice.chassis.filename}, with all its codecs"
    return "no official wheel fits this Python, so the libraries are bundled by auditwheel"
