"""Finds a decoder or store of bench by name."""

from fastinstall.bench import catalogue


def way_named(name: str) -> catalogue.Way:
    """Return the decoder or store of that name, which must exist."""
    found = catalogue.way_named(name)
    assert found is not None
    return found
