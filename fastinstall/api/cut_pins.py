"""Changes of the pin of an environment's project that were cut short: noticed here, brought to an end by `mending`."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.journal.layout import PROJECT
from fastinstall.model.history import Interruption

_HOME = ".fastinstall"
_REACH = 3
"""So far above an environment lies the project that holds it: PROJECT/.venv, PROJECT/.pixi/envs/NAME."""


def pin_interruptions(session: Session, prefix: Path) -> Iterator[Interruption]:
    """Such changes, in the project that an environment lies in or is noted to be pinned in.

    Args:
        session: the outside world.
        prefix: of the environment.
    """
    near = any((parent / _HOME).is_dir() for parent in prefix.parents[:_REACH])
    if not near and not (prefix / PROJECT).is_file():
        return
    from fastinstall.pins.files import interruption_of  # noqa: PLC0415 (doctor rarely needs it)
    from fastinstall.pins.recognition import holding_directory, noted_project  # noqa: PLC0415 (likewise)

    for directory in dict.fromkeys((holding_directory(prefix), noted_project(prefix))):
        interruption = interruption_of(directory, session.begun_pins) if directory is not None else None
        if interruption is not None:
            yield interruption
