"""Makes a temporary store of the measured images: bounded, announced, and removed after the measurement."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.bench.catalogue import StoreKind
from fastinstall.bench.loading import ImageStore, Job, NotLoadedError, run_program
from fastinstall.bench.report import CandidateOutcome
from fastinstall.core import files
from fastinstall.core.codec import encode
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable

MOST_BYTES = 1 << 30
PART_OF_FREE = 10
_PROGRAM = Path(__file__).with_name("_storage.py")
_SECONDS = 120.0
"""Seconds before giving up a store."""


@immutable
class MadeStore:
    """A finished store.

    Attributes:
        store: for `Job.store`. Images keep the indexes that they have among all images.
        indexes: of the images in it; reading any other fails.
        bytes: size of the store on disk.
        ratio: the same, as a multiple of these images' files.
    """

    store: ImageStore
    indexes: tuple[int, ...]
    bytes: int
    ratio: float


@contextmanager
def temporary_store(kind: StoreKind, job: Job, directory: Path, emit: Emit = ignore) -> Iterator[MadeStore]:
    """Put images into a store, as many as there is room for; it is removed when the block ends, or on failure.

    Args:
        kind: the kind of store.
        job: its images, and the interpreter, packages and pipeline to make it with.
        directory: where the store gets its own directory.
        emit: receives an event about what is written, and where.

    Raises:
        NotLoadedError: it cannot be written, a package is missing, or it failed.
    """
    out = directory / f"store-{kind.name}"
    try:
        limit = min(MOST_BYTES, shutil.disk_usage(directory).free // PART_OF_FREE)
        out.mkdir()
    except OSError as error:
        raise NotLoadedError(CandidateOutcome.FAILED, f"cannot write the store: {error}") from error
    emit(Noted(message=f"{kind.title}: at most {format_bytes(limit)} in {directory}, removed after measuring"))
    try:
        yield _fill(kind, job, out, limit)
    finally:
        files.discard(out)


def _fill(kind: StoreKind, job: Job, out: Path, limit: int) -> MadeStore:
    request = {
        "kind": kind.name,
        "images": [str(each) for each in job.images],
        "out": str(out),
        "site": [str(each) for each in job.site],
        "limit_bytes": limit,
        "wanted": encode(job.pipeline),
    }
    answer = run_program((job.python, _PROGRAM), job.variables, _SECONDS, json.dumps(request) + "\n")
    held = tuple(answer["held"])
    if not held:
        raise NotLoadedError(CandidateOutcome.FAILED, f"it could not store any image: {answer['skipped'][0]}")
    ratio = answer["bytes"] / max(1, sum(job.images[index].stat().st_size for index in held))
    return MadeStore(store=ImageStore(kind=kind.name, path=out), indexes=held, bytes=answer["bytes"], ratio=ratio)
