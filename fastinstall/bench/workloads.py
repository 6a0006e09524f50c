"""A workload: images that are searched for, judged and chosen, or generated, and how processes load them.

An image can be measured if one decoding succeeds, in a process that it may kill. `report` holds the workload's value
for the report, `workload_comparison` measures it.
"""

import hashlib
import json
import os
import re
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from fastinstall.bench.effort import BenchContext, sample_size
from fastinstall.bench.loading import Job, NotLoadedError, converse, explain_end, refuse
from fastinstall.bench.photos import WORKLOADS, generate_photos
from fastinstall.bench.report import Unmeasured, Workload
from fastinstall.core import foreign, process
from fastinstall.core.errors import FailedError, UndeterminedError, UsageError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem

_QUICK_PHOTOS = {"500px": 12, "12mp": 2, "png": 6}
_JUDGED_FOR_EACH = 3
_LEAST_JUDGED = 16
_NAMED = 2
_EXAMPLES = 3


@immutable
class SurveyedImage:
    """An image, and whether it may be measured.

    Attributes:
        path: as it was given.
        format: Pillow's name, "JPEG" for phones' MPO pictures; empty if unknown.
        mode: Pillow's name of its samples; empty likewise.
        width: in pixels, as stored; the EXIF orientation is never applied.
        height: in pixels, as stored, like `width`.
        size_bytes: size of the file in bytes.
        reason: why it is not measured; empty if it may be. "unreadable", "not a file", "empty", "truncated", "corrupt",
            "not an image that Pillow knows", "CMYK", "I;16", "16 bits per channel", "several pictures", "too large",
            "vector graphics", "takes too long", "kills the decoder: SIGSEGV".
    """

    path: Path
    format: str = ""
    mode: str = ""
    width: int = 0
    height: int = 0
    size_bytes: int = 0
    reason: str = ""

    @property
    def megapixels(self) -> float:
        """Millions of pixels."""
        return self.width * self.height / 1e6


@immutable
class WorkloadTask:
    """A workload, and how its images are loaded.

    Attributes:
        workload: as it is reported.
        job: what the baseline loads.
        images: facts about each, in the order of their indexes.
    """

    workload: Workload
    job: Job
    images: tuple[SurveyedImage, ...]


def task_names(context: BenchContext) -> tuple[str, ...]:
    """Return what to measure: names of generated workloads, or one empty name for the user's own images.

    Raises:
        UsageError: no workload has that name.
    """
    if context.request.paths:
        return ("",)
    for name in context.request.workloads:
        if name not in WORKLOADS:
            raise UsageError(f"no workload is named {name!r}", hint=f"choose from: {', '.join(WORKLOADS)}")
    return context.request.workloads or tuple(WORKLOADS)


def task_of(context: BenchContext, name: str) -> WorkloadTask:
    """Return the images of a workload, chosen and judged.

    Args:
        context: where it is measured.
        name: of a generated workload; empty for the user's own images.

    Raises:
        UndeterminedError: there is no image, or none that can be measured.
        FailedError: no photos could be generated, or the images cannot be judged.
    """
    images, workload = _generate_images(context, name) if name else _find_images(context)
    job = Job(
        python=context.python,
        images=tuple(each.path for each in images),
        formats=tuple(each.format for each in images),
        pipeline=context.request.pipeline,
        variables=context.session.variables,
        loader=context.request.loader,
        tensor=not context.request.quick,
    )
    return WorkloadTask(workload=workload, job=job, images=images)


def narrow_workload(task: WorkloadTask, indexes: Sequence[int], failed: Mapping[str, str]) -> Workload:
    """Return the workload as measured.

    Args:
        task: the images, as the user has chosen them.
        indexes: of the measured images.
        failed: errors of images that the baseline could not load, by index.
    """
    chosen = tuple(task.images[index] for index in indexes)
    whose = "your loader fails: " if task.job.loader else ""
    refused = [replace(task.images[int(index)], reason=f"{whose}{reason}") for index, reason in failed.items()]
    unmeasured = (*task.workload.unmeasured, *_group_unmeasured(refused))
    return replace(task.workload, unmeasured=unmeasured, **_compute_figures(chosen))


def _generate_images(context: BenchContext, name: str) -> tuple[tuple[SurveyedImage, ...], Workload]:
    """Generate a workload's photos in the temporary directory."""
    directory = context.space / name
    directory.mkdir(exist_ok=True)
    context.session.emit(Started(stage="photos", message=f"generating photos: {WORKLOADS[name]}"))
    try:
        count = context.request.samples or (_QUICK_PHOTOS.get(name) if context.request.quick else None)
        paths = generate_photos(name, directory, context.python, context.session.variables, count)
    except NotLoadedError as error:
        raise FailedError(f"cannot generate photos: {error.reason}", hint="fastinstall doctor") from error
    found = tuple(each for each in _judge_images(context, paths) if not each.reason)
    chosen = found[: _count_fitting(context, found)]
    workload = Workload(
        name=WORKLOADS[name],
        directory=directory,
        files=len(paths),
        generated=True,
        filesystem=filesystem_of(directory),
        **_compute_figures(chosen),
    )
    return chosen, workload


def _find_images(context: BenchContext) -> tuple[tuple[SurveyedImage, ...], Workload]:
    """Find images below the named places."""
    places = [Path(each) for each in context.request.paths]
    named = _format_places(places)
    context.session.emit(Started(stage="search", message=f"looking for images in {named}"))
    found = find_images(places)
    if not found.images:
        others = f"{found.others} other file{'s' * (found.others > 1)}" if found.others else "no files"
        unreadable = f", and {len(found.unreadable)} unreadable directories" if found.unreadable else ""
        problem = f"no images in {named}: {others}{unreadable}"
        raise UndeterminedError(problem, hint="fastinstall bench DIR, with images in DIR")
    if not found.complete:
        context.remark(f"the search for images ended early, after {len(found.images)} of them")
    if found.unreadable:
        context.remark(f"{len(found.unreadable)} directories could not be read: {found.unreadable[0]}, ...")
    chosen, refused = _choose_images(context, spread_evenly(found.images))
    if not chosen:
        counted = Counter(each.reason for each in refused).most_common()
        reasons = listing(f"{count} {reason}" for reason, count in counted)
        problem = f"none of the images in {named} can be measured: {len(refused)} examined, {reasons}"
        raise UndeterminedError(problem, hint="fastinstall bench DIR, with intact images in DIR")
    common = Path(os.path.commonpath([each.absolute() for each in places]))
    directory = common if common.is_dir() else common.parent
    workload = Workload(
        name=f"images of {named}",
        directory=directory,
        files=len(found.images),
        unmeasured=tuple(_group_unmeasured(refused)),
        filesystem=filesystem_of(directory),
        **_compute_figures(chosen),
    )
    return chosen, workload


def _choose_images(
    context: BenchContext, ordered: Sequence[Path]
) -> tuple[tuple[SurveyedImage, ...], tuple[SurveyedImage, ...]]:
    """Return enough images to measure, and those refused on the way; a bounded number is examined."""
    step = context.request.samples or context.effort.sample
    bound = min(len(ordered), max(_LEAST_JUDGED, _JUDGED_FOR_EACH * step))
    good: list[SurveyedImage] = []
    refused: list[SurveyedImage] = []
    for start in range(0, bound, step):
        for each in _judge_images(context, ordered[start : min(start + step, bound)]):
            (refused if each.reason else good).append(each)
        if len(good) >= step or _count_fitting(context, good) < len(good):
            break
    return tuple(good[: _count_fitting(context, good)]), tuple(refused)


def _judge_images(context: BenchContext, paths: Sequence[Path]) -> tuple[SurveyedImage, ...]:
    try:
        return judge_images(paths, context.python, context.session.variables)
    except NotLoadedError as error:
        raise FailedError(f"cannot examine the images: {error.reason}", hint="fastinstall doctor") from error


def _count_fitting(context: BenchContext, images: Sequence[SurveyedImage]) -> int:
    """Return how many of these images fit into the time."""
    return sample_size(context.effort, [each.megapixels for each in images], context.request.samples)


def _format_places(places: Sequence[Path]) -> str:
    few = [str(each) for each in places[:_NAMED]]
    return listing(few) if len(places) <= _NAMED else f"{', '.join(few)} and {len(places) - _NAMED} more"


def _compute_figures(chosen: Sequence[SurveyedImage]) -> dict[str, Any]:
    """Return the figures of a Workload."""
    return {
        "images": len(chosen),
        "formats": dict(Counter(each.format for each in chosen).most_common()),
        "mean_bytes": round(statistics.fmean(each.size_bytes for each in chosen)),
        "megapixels": round(statistics.fmean(each.megapixels for each in chosen), 4),
        "width": round(statistics.median(each.width for each in chosen)),
        "height": round(statistics.median(each.height for each in chosen)),
    }


def _group_unmeasured(refused: Sequence[SurveyedImage]) -> Iterator[Unmeasured]:
    for reason, count in Counter(each.reason for each in refused).most_common():
        examples = [str(each.path) for each in refused if each.reason == reason][:_EXAMPLES]
        yield Unmeasured(reason=reason, count=count, examples=tuple(examples))


_SURVEY_PROGRAM = Path(__file__).with_name("_survey.py")
_JUDGE_START_SECONDS = 30.0
_PATIENCE = 10.0


def judge_images(
    images: Sequence[Path],
    python: Path,
    variables: Mapping[str, str],
    site: Sequence[Path] = (),
    patience: float = _PATIENCE,
) -> tuple[SurveyedImage, ...]:
    """Decode each image once, in the target.

    An image that kills the process or takes too long is a result; another process continues.

    Args:
        images: files; anything else is reported, and not opened.
        python: path of the target's interpreter, which decodes.
        variables: the complete environment of the process.
        site: directories for the front of the path, with another PIL.
        patience: seconds for an image.

    Raises:
        NotLoadedError: there is no PIL, or it cannot be imported.
    """
    found: list[SurveyedImage] = []
    while len(found) < len(images):
        with converse(_SURVEY_PROGRAM, python, variables, *site) as talk:
            try:
                refuse(json.loads(talk.listen(_JUDGE_START_SECONDS)))
            except process.CommandError as error:
                raise explain_end(error) from error
            reason = _judge(images, found, talk, patience)
        if reason:
            path = images[len(found)]
            found.append(SurveyedImage(path=path, reason=reason))
    return tuple(found)


def _judge(images: Sequence[Path], found: list[SurveyedImage], talk: process.Conversation, patience: float) -> str:
    """Judge images until one ends the process; return how, or empty if none did."""
    for path in images[len(found) :]:
        try:
            answer: dict[str, Any] = json.loads(talk.ask(json.dumps(str(path)), patience))
        except process.CommandError as error:
            if error.timed_out:
                return "takes too long"
            return f"kills the decoder: {error.completed.signal_name or f'exit code {error.completed.exit_code}'}"
        found.append(SurveyedImage(path=path, **answer))
    return ""


_EXTENSIONS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pnm", ".jp2", ".j2k", ".jpx", ".avif", ".tga", ".qoi", ".mpo", ".apng", ".heic", ".heif"),
)
_SKIPPED = frozenset(("node_modules", "__pycache__"))

MOST_SECONDS = 5.0


class ImageSearch:
    """A search, and its result.

    Attributes:
        others: how many files do not look like images.
        unreadable: directories that could not be listed.
        complete: whether the search finished in time.
    """

    def __init__(self) -> None:
        self.others = 0
        self.unreadable: list[Path] = []
        self.complete = True
        self._found: set[Path] = set()
        self._end = time.monotonic() + MOST_SECONDS
        self._seen: set[str] = set()

    @cached_property
    def images(self) -> tuple[Path, ...]:
        """Files that look like images, sorted by path."""
        return tuple(sorted(self._found))

    def walk(self, top: Path) -> None:
        """Search a directory; anything else counts as a file."""
        if top.exists() and not top.is_dir():
            self._found.add(top)
            return
        for directory, inner, names in os.walk(top, onerror=self._note_unreadable, followlinks=True):
            if not self._is_first(directory):
                inner.clear()
                continue
            inner[:] = [each for each in inner if not each.startswith(".") and each not in _SKIPPED]
            for name in names:
                if time.monotonic() >= self._end:
                    self.complete = False
                    return
                path = os.path.join(directory, name)  # noqa: PTH118 (hundreds of thousands of objects cost too much time)
                if path.lower().endswith(_EXTENSIONS) and os.path.isfile(path):  # noqa: PTH113 (as above)
                    self._found.add(Path(path))
                else:
                    self.others += 1

    def _is_first(self, directory: str) -> bool:
        real = os.path.realpath(directory)
        first = real not in self._seen
        self._seen.add(real)
        return first

    def _note_unreadable(self, error: OSError) -> None:
        self.unreadable.append(Path(str(error.filename)))


def find_images(places: Sequence[Path]) -> ImageSearch:
    """Search directories for images, by extension.

    A file named explicitly always counts. Hidden directories are skipped, and each directory is searched once, even if
    several links lead to it.

    Args:
        places: directories and files that exist.
    """
    search = ImageSearch()
    for place in places:
        search.walk(place)
    return search


def spread_evenly(images: Sequence[Path]) -> tuple[Path, ...]:
    """Reorder images, always in the same way, so that every beginning is an even sample of each kind."""
    by_kind: dict[str, list[Path]] = {}
    for each in sorted(images, key=lambda each: hashlib.sha1(os.fsencode(each), usedforsecurity=False).digest()):
        by_kind.setdefault(each.suffix.lower(), []).append(each)
    placed = [((number + 0.5) / len(kind), each) for kind in by_kind.values() for number, each in enumerate(kind)]
    return tuple(each for _, each in sorted(placed, key=lambda each: each[0]))


_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "panfs", "wekafs", "pvfs2"),
    *("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "gcsfuse", "mountpoint-s3"),
)
"""Names from the kernel. A virtual machine's host filesystems count: another machine is asked there too."""
_FUSE = "fuse."
_LOCAL = frozenset({"fuse.fuse-overlayfs", "fuse.mergerfs"})
"""Of those whose names begin like `_FUSE`: nearly all others fetch files from elsewhere (sshfs, s3fs, rclone)."""
_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def filesystem_of(path: Path, root: Path = Path("/")) -> Filesystem:
    """Return the filesystem of a path, or of its nearest existing parent. Source: proc_pid_mountinfo(5).

    Args:
        path: a file or directory; links are followed.
        root: what stands for "/"; another directory holds the files of a captured machine.
    """
    real = path.resolve() if root == Path("/") else path
    try:
        mountinfo = foreign.read_text(root / "proc/self/mountinfo", errors="replace")
    except OSError:
        mountinfo = ""
    point, kind = find_mount(real, mountinfo)
    return Filesystem(
        mount=point,
        type=kind,
        network=kind in _NETWORK or (kind.startswith(_FUSE) and kind not in _LOCAL),
        memory=kind in _MEMORY,
        free_bytes=shutil.disk_usage(next(each for each in (real, *real.parents) if each.exists())).free,
    )


def find_mount(path: PurePath, mountinfo: str) -> tuple[PurePath, str]:
    """Return where a path is mounted, and the type: the longest, and of several in one place the last, which hides all.

    >>> find_mount(PurePath("/data/photos"), "36 35 0:30 / /data rw - nfs4 nas:/export rw")[1]
    'nfs4'

    Args:
        path: absolute, with symbolic links already resolved.
        mountinfo: the text of /proc/self/mountinfo.
    """
    found = PurePath("/"), ""
    for line in mountinfo.splitlines():
        mount, _, filesystem = line.partition(" - ")
        # the kernel writes space, tab, newline and backslash as octal numbers
        point = PurePath(re.sub(r"\\([0-7]{3})", lambda escaped: chr(int(escaped[1], 8)), mount.split(" ")[4]))
        if path.is_relative_to(point) and len(point.parts) >= len(found[0].parts):
            found = point, filesystem.split(" ")[0]
    return found
