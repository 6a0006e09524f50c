"""Take back what was written into a wheelhouse or a channel where the rest could not be written.

Other people's files lie there as well: what is not said to be ours is left alone. Not durable like the journal: a kill
leaves what was written, and the same command finishes it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import files, refused_writes, signals
from fastinstall.core.errors import EnvironmentDamagedError, FailedError
from fastinstall.core.messages import quote

_PACKAGES = (".whl", ".conda")
"""They come and stay as they are: their contents need not be remembered."""
_HALF = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")  # as `files.write_bytes` names them


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
                f"{refused_writes.reason(error, directory)}: {directory} is written in part",
                hint=f"remove the cause (ls -la {quote(directory)}), then run the same command again: it finishes this",
            ) from failure
        raise


@contextmanager
def explain_write_errors(directory: Path) -> Iterator[None]:
    """Turn what the kernel refuses in the block into a failure that names the directory.

    Raises:
        FailedError: instead of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise make_unwritable_error(directory, error) from error


def make_unwritable_error(directory: Path, error: OSError) -> FailedError:
    """Return the error that a directory for builds is not writable."""
    hint = refused_writes.advice(error, directory) if error.errno in refused_writes.FULL else "choose another directory"
    return FailedError(f"-o {directory}: cannot be written: {error.strerror}", hint=hint)


def discard_halves(directory: Path, endings: tuple[str, ...]) -> None:
    """Discard what a run left that could not even take back its half-written files.

    Args:
        directory: with all that is in it.
        endings: of the names of whole files.
    """
    for path in [*directory.rglob(".*")]:
        match = _HALF.fullmatch(path.name)
        if match is not None and not path.is_dir() and match["name"].endswith(endings):
            path.unlink()


def _read_files(directory: Path, is_ours: Callable[[Path], bool]) -> Mapping[Path, bytes | None]:
    paths = (path for path in directory.rglob("*") if is_ours(path) and path.is_file())
    return {path: None if path.suffix in _PACKAGES else path.read_bytes() for path in paths}


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
