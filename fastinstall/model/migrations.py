"""Forms that documents of ours had in earlier versions, brought to today's: one pure function for each step.

A step recognises its form by what stands there, and gives back anything else as it is.
"""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]


def level_to_levels(fields: Fields) -> Fields:
    """A receipt named the one level of its core before a wheel could have several."""
    if "level" not in fields or "levels" in fields:
        return fields
    rest = {key: item for key, item in fields.items() if key != "level"}
    return {**rest, "levels": [fields["level"]]}


_STEPS: dict[str, tuple[Step, ...]] = {"receipt": (level_to_levels,)}


def migrated(name: str, fields: Fields) -> Fields:
    """The fields of a document in today's form.

    Args:
        name: of its schema, without the number.
        fields: as they were read.
    """
    for step in _STEPS.get(name, ()):
        fields = step(fields)
    return fields
