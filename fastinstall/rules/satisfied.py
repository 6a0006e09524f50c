"""Is there anything to do? Compares a receipt with the facts and the wish. Pure."""

from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.choose import choose_level


def unsatisfied(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt | None) -> str | None:
    """Why a setup has something to do; None where it has not.

    Returns:
        A reason for people, or None if the environment is what the wish asks for, to the byte.
    """
    if receipt is None:
        return "fastinstall has set up nothing here"
    return _changed(facts, receipt) or _wished_otherwise(facts, recipe, wish, receipt) or _guard(facts, wish)


def _changed(facts: Facts, receipt: Receipt) -> str | None:
    core = facts.stack.core
    if core is None or core.sha256 != receipt.core.sha256:
        return "the imaging core is not the one that was installed"
    if facts.stack.version != receipt.stack_version:
        return f"PIL says {facts.stack.version}, but {receipt.stack_version} was installed"
    owners = facts.stack.owners
    if [owner.distribution.metadata for owner in owners] != [receipt.metadata]:
        return "the distributions that own PIL are not what was installed"
    if owners[0].mismatched or owners[0].missing or facts.stack.unclaimed or not facts.stack.has_init:
        return "files of PIL were changed"
    return _left_over(facts)


def _left_over(facts: Facts) -> str | None:
    if facts.stack.debris:
        return f"left over from an interrupted installer: {', '.join(facts.stack.debris)}"
    if facts.interrupted is not None:
        return f"transaction {facts.interrupted} did not finish"
    return None


def _wished_otherwise(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt) -> str | None:
    if wish.upgrade:
        return "an upgrade was asked for"
    asked = (wish.recipe, wish.link, wish.dist_name)
    if asked != (receipt.recipe, receipt.link, receipt.distribution):
        return (
            f"asked for {wish.recipe} as {wish.dist_name} ({wish.link}), not {receipt.recipe} as {receipt.distribution}"
        )
    if wish.version not in (None, receipt.source_version):
        return f"asked for version {wish.version}, not {receipt.source_version}"
    level = choose_level(recipe, facts.cpu, wish.level).level.name
    if level != receipt.level:
        return f"level {level} suits this CPU and wish, not {receipt.level}"
    return None


def _guard(facts: Facts, wish: Wish) -> str | None:
    if wish.guard and (not facts.guard.installed or facts.guard.problems):
        return "the start-up guard is missing or damaged"
    return None
