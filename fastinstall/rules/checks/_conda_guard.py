"""What keeps conda from replacing the stack: the guard package, and the channel that has ours. For several checks."""

from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt


def lacks_guard(facts: Facts, receipt: Receipt) -> bool:
    """Whether the guard package was set up and is not installed."""
    guard = receipt.conda.guard if receipt.conda is not None else None
    return guard is not None and facts.conda is not None and facts.conda.named(guard.name) is None


def is_registered(facts: Facts, receipt: Receipt) -> bool:
    """Whether the environment's own configuration names the channel that was set up; true where none was."""
    if receipt.conda is None or facts.conda is None:
        return True
    from fastinstall.rules.conda_repair import has_channel  # noqa: PLC0415 (only in conda environments)

    return has_channel(facts.conda, receipt.conda, facts.environment.prefix)
