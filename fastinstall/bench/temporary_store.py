"""Makes a temporary store of the images that are measured: bounded, told before, and gone when it was measured."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from fastinstall.bench.catalogue import StoreKind
from fastinstall.bench.image_search import SurveyedImage
from fastinstall.bench.loading import ImageStore, NotLoadedError, run_program
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core import files
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.values import immutable
from fastinstall.model.history import format_bytes

MOST_BYTES = 1 << 30
PART_OF_FREE = 10
_BASE = 1 << 16
"""What an empty store takes."""
_OVERHEAD = 3 * 4096
"""What is around an image: parts of pages (LMDB), a header and padding (tar), its entry in an index."""


@immutable
class StoreBounds:
    """What a store may take.

    Attributes:
        most_bytes: of one store; they are made one at a time.
        free_bytes: that are free on its disk.
    """

    most_bytes: int
    free_bytes: int = 0


@immutable
class Estimate:
    """What a store would come to, before it is made.

    Attributes:
        indexes: of the images that have room, spread evenly where that is not all of them.
        most_bytes: what these take at most.
        all_bytes: what all of them would.
    """

    indexes: tuple[int, ...]
    most_bytes: int
    all_bytes: int


def bounds_of(directory: Path) -> StoreBounds:
    """1 GiB, or a tenth of what is free on this disk where that is less.

    Raises:
        OSError: the directory is not there.
    """
    disk = os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    return StoreBounds(most_bytes=min(MOST_BYTES, free // PART_OF_FREE), free_bytes=free)


def estimate_store(
    kind: StoreKind, images: Sequence[SurveyedImage], pipeline: ImagePipeline, bounds: StoreBounds
) -> Estimate:
    """What a store of this kind would take, and which images it can hold.

    Args:
        kind: which one.
        images: in the order of their indexes.
        pipeline: what is done to every image.
        bounds: that it has to keep.
    """
    wanted = {"shorter": pipeline.shorter, "filter": pipeline.filter}
    sizes = [kind.most_bytes(each, wanted) + _OVERHEAD for each in images]
    indexes = tuple(range(len(images)))
    while indexes and _BASE + sum(sizes[index] for index in indexes) > bounds.most_bytes:
        indexes = _spread(len(indexes) - 1, len(images))
    most = _BASE + sum(sizes[index] for index in indexes)
    return Estimate(indexes=indexes, most_bytes=most, all_bytes=_BASE + sum(sizes))


def _spread(count: int, whole: int) -> tuple[int, ...]:
    return tuple(number * whole // count for number in range(count))


_PROGRAM = Path(__file__).with_name("_storage.py")
_SECONDS = 120.0
"""After which a store is given up."""


@immutable
class Maker:
    """How a store is made.

    Attributes:
        python: the target's interpreter.
        variables: the whole environment of the process.
        directory: in which the store gets a directory of its own.
        pipeline: what is done to every image.
        site: directories that go in front of the path: another PIL, packages that were brought.
        bounds: that it has to keep; None for those of the directory's disk.
        processes: that work on it.
        emit: hears what is about to be written, and where.
    """

    python: Path
    variables: Mapping[str, str]
    directory: Path
    pipeline: ImagePipeline = ImagePipeline()
    site: tuple[Path, ...] = ()
    bounds: StoreBounds | None = None
    processes: int = 2
    emit: Emit = ignore


@immutable
class MadeStore:
    """A store that is there.

    Attributes:
        store: for `Job.store`. Images have the indexes in it that they have among all of them.
        indexes: of the images that are in it; any other fails when it is read.
        bytes: what it takes.
        files_bytes: what these images take in their files.
        skipped: indexes of images that could not be stored, and why.
    """

    store: ImageStore
    indexes: tuple[int, ...]
    bytes: int
    files_bytes: int
    skipped: dict[int, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times the room of the files it takes."""
        return self.bytes / max(1, self.files_bytes)


@contextmanager
def temporary_store(kind: StoreKind, images: Sequence[SurveyedImage], maker: Maker) -> Iterator[MadeStore]:
    """A store that is removed when the block ends; see `make_store`."""
    made = make_store(kind, images, maker)
    try:
        yield made
    finally:
        files.discard(made.store.path)


def make_store(kind: StoreKind, images: Sequence[SurveyedImage], maker: Maker) -> MadeStore:
    """Put images into a store; where it comes to nothing, nothing is left behind.

    Args:
        kind: which one.
        images: that may be measured, in the order of their indexes.
        maker: how.

    Raises:
        NotLoadedError: it has no room, it cannot be written there, a package is missing, or it failed.
    """
    out = maker.directory / f"store-{kind.name}"
    try:
        bounds = maker.bounds or bounds_of(maker.directory)
        out.mkdir()
    except OSError as error:
        raise NotLoadedError(CandidateOutcome.FAILED, f"nothing can be written there: {error}") from error
    try:
        estimate = estimate_store(kind, images, maker.pipeline, bounds)
        _require_room(len(images), estimate, bounds)
        _tell(kind, len(images), estimate, maker)
        return _fill(kind, images, estimate, maker, out)
    except BaseException:
        files.discard(out)
        raise


def _require_room(count: int, estimate: Estimate, bounds: StoreBounds) -> None:
    if not estimate.indexes:
        needed, granted = format_bytes(estimate.all_bytes), format_bytes(bounds.most_bytes)
        reason = f"{count} images would take up to {needed}, and a temporary store may take {granted}"
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"{reason} ({format_bytes(bounds.free_bytes)} are free)")


def _tell(kind: StoreKind, count: int, estimate: Estimate, maker: Maker) -> None:
    part = "" if len(estimate.indexes) == count else f" of {count}"
    most, place = format_bytes(estimate.most_bytes), maker.directory
    message = f"{kind.title}: {len(estimate.indexes)}{part} images, at most {most} in {place}, removed when measured"
    maker.emit(Noted(message=message))


def _fill(kind: StoreKind, images: Sequence[SurveyedImage], estimate: Estimate, maker: Maker, out: Path) -> MadeStore:
    pipeline = maker.pipeline
    job = {
        "kind": kind.name,
        "images": [str(each.path) for each in images],
        "indexes": list(estimate.indexes),
        "out": str(out),
        "site": [str(each) for each in maker.site],
        "limit_bytes": estimate.most_bytes,
        "wanted": {"shorter": pipeline.shorter, "filter": pipeline.filter, "processes": maker.processes},
    }
    answer = run_program((maker.python, _PROGRAM), maker.variables, _SECONDS, json.dumps(job) + "\n")
    if "limit" in answer:
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"it would take more than {format_bytes(answer['limit'])}")
    skipped = {int(index): why for index, why in answer["skipped"].items()}
    held = tuple(index for index in estimate.indexes if index not in skipped)
    if not held:
        reason = next(iter(skipped.values()))
        raise NotLoadedError(CandidateOutcome.FAILED, f"it could store none of the images: {reason}")
    return MadeStore(
        store=ImageStore(kind=kind.name, path=out),
        indexes=held,
        bytes=answer["bytes"],
        files_bytes=sum(images[index].size_bytes for index in held),
        skipped=skipped,
    )
