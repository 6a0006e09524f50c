"""A decoder or a store of bench by its name."""

from fastinstall.bench import catalogue


def way_named(name: str) -> catalogue.Way:
    """The way of that name; there is one."""
    found = catalogue.way_named(name)
    assert found is not None
    return found
