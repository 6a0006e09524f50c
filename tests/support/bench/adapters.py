"""A decoder of bench by its name."""

from fastinstall.bench.catalogue import Adapter, all_adapters


def adapter_named(name: str) -> Adapter:
    """The adapter of that name; there is one."""
    return next(each for each in all_adapters() if each.name == name)
