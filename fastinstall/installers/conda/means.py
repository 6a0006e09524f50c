"""What the engines work with."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.model.event import Emit
from fastinstall.model.immutable import immutable


@immutable
class Means:
    """What comes from outside.

    Attributes:
        variables: the caller's environment variables.
        cache: a directory of fastinstall's cache that is the engines' own.
        emit: hears of progress.
        offline: ask no channel of the network; what is cached has to do.
    """

    variables: Mapping[str, str] = field(repr=False)
    cache: Path
    emit: Emit = field(repr=False)
    offline: bool = False
