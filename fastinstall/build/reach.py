"""Which of a wheel's bundled libraries its modules reach through DT_NEEDED; not what they open by name."""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.binary.dynamic import read_dynamic


def reached_libraries(modules: Iterable[Path], libraries: Path | None) -> dict[str, Path]:
    """The bundled libraries that modules need, and those that these need, by file name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting and libraries is not None:
        for name in read_dynamic(waiting.pop()).needed:
            if name not in found and (libraries / name).is_file():
                found[name] = libraries / name
                waiting.append(found[name])
    return found
