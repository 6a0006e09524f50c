"""Take back what was written into a wheelhouse where the rest could not be written.

Other people's wheels lie there as well: what is not said to be ours is left alone. Not durable like the journal: a kill
leaves what was written, and the same command finishes it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import files, signals
from fastinstall.core.errors import EnvironmentDamagedError
from fastinstall.core.messages import quote

_WHEEL = ".whl"
"""Comes and stays as it is: its content need not be remembered."""


@contextmanager
def restore_on_failure(directory: Path, is_ours: Callable[[Path], bool]) -> Iterator[None]:
    """Give a directory back what it had, if the block fails or is interrupted.

    Args:
        directory: made by the block where it is missing.
        is_ours: whether a file is one that the block may have written.

    Raises:
        EnvironmentDamagedError: that was refused, too; says what is there now.
    """
    before = _read_files(directory, is_ours)
    above = tuple(each for each in (directory, *directory.parents) if not each.is_dir())
    inner = {path for path in directory.rglob("*") if path.is_dir()}
    try:
        yield
    except BaseException as failure:
        try:
            _restore(directory, before, is_ours)
            _remove_made(directory, inner, above)
        except OSError as error:
            raise EnvironmentDamagedError(
                f"{files.reason(error, directory)}: {directory} is written in part",
                hint=f"remove the cause (ls -la {quote(directory)}), then run the same command again: it finishes this",
            ) from failure
        raise


def _read_files(directory: Path, is_ours: Callable[[Path], bool]) -> Mapping[Path, bytes | None]:
    paths = (path for path in directory.rglob("*") if is_ours(path) and path.is_file())
    return {path: None if path.suffix == _WHEEL else path.read_bytes() for path in paths}


@signals.defer_signals()
def _restore(directory: Path, before: Mapping[Path, bytes | None], is_ours: Callable[[Path], bool]) -> None:
    for path in [*directory.rglob("*")]:
        if is_ours(path) and path.is_file() and path not in before:
            path.unlink()
    for path, content in before.items():
        if content is not None and (not path.is_file() or path.read_bytes() != content):
            files.write_bytes(path, content)


def _remove_made(directory: Path, inner: set[Path], above: tuple[Path, ...]) -> None:
    made = sorted((path for path in directory.rglob("*") if path.is_dir() and path not in inner), reverse=True)
    for path in (*made, *(each for each in above if each.is_dir())):
        if not any(path.iterdir()):
            path.rmdir()
