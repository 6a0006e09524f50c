"""Is there anything to do? Compares a receipt with the facts and the wish. Pure."""

from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.choose import choose_levels, serves
from fastinstall.rules.messages import listing
from fastinstall.rules.numbering import base_version
from fastinstall.rules.wishes import asked_levels


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
    if wish.version is not None and not _is_of(receipt.source_version, wish.version):
        return f"asked for version {wish.version}, not {receipt.source_version}"
    return _other_levels(facts, recipe, wish, receipt)


def _is_of(built: str, asked: str) -> bool:
    """A wheel of ours that was taken as it is bears a label, and answers to the version that it was built from."""
    if built == asked or "+" not in built:
        return built == asked
    try:
        return base_version(built) == base_version(asked)
    except ValueError:
        return False


def _other_levels(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt) -> str | None:
    """Where no level is named, any wheel will do that runs on this CPU at its best."""
    chosen = choose_levels(recipe, facts.cpu, wish).names
    if receipt.levels == chosen or (not asked_levels(wish) and serves(recipe, facts.cpu, receipt.levels)):
        return None
    subject = f"level {chosen[0]} suits" if len(chosen) == 1 else f"levels {listing(chosen)} suit"
    return f"{subject} this CPU and wish, not {listing(receipt.levels)}"


def _guard(facts: Facts, wish: Wish) -> str | None:
    if wish.guard and (not facts.guard.installed or facts.guard.problems):
        return "the start-up guard is missing or damaged"
    return None
