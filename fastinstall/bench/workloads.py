"""Prepare a workload: find or generate images, examine and choose them, and describe how processes load them.

An image is examined by decoding it once, in a separate process, because a damaged image may crash the decoder. If the
decoding succeeds, the image can be measured.
"""

import hashlib
import os
import re
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path, PurePath

from fastinstall.bench.effort import BenchContext, Effort
from fastinstall.bench.loading import Job, NotLoadedError, start_target
from fastinstall.bench.report import BenchRequest, CandidateOutcome, Unmeasured, Workload
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError, UndeterminedError, UsageError
from fastinstall.core.events import Started
from fastinstall.core.messages import format_count, listing, quote
from fastinstall.core.refused_writes import find_nearest
from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem

WORKLOADS: Mapping[str, tuple[str, int, int]] = {
    "500px": ("500 px JPEG (generated)", 2000, 12),
    "12mp": ("12 MP JPEG (generated)", 40, 2),
    "png": ("800 px PNG (generated)", 150, 6),
}
"""For each workload of generated photos: title, maximum number of photos (about 100 MB), and their number in --quick.

The pictures are 500 x 375 JPEG of quality 90, 4000 x 3000 JPEG of quality 92 (both 4:2:0), and 800 x 600 PNG.
"""
_MS_PER_MEGAPIXEL, _MS_PER_IMAGE = 14.0, 0.8
_NAMED = 2
_EXAMPLES = 3
_START_SECONDS, _GENERATING_SECONDS, _SEARCH_SECONDS = 30.0, 60.0, 5.0
_PATIENCE = 10.0
_EXTENSIONS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pnm", ".jp2", ".j2k", ".jpx", ".avif", ".tga", ".qoi", ".mpo", ".apng", ".heic", ".heif"),
)
_SKIPPED = ("node_modules", "__pycache__")
_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "panfs", "wekafs", "pvfs2"),
    *("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "gcsfuse", "mountpoint-s3"),
)
"""The kernel's names of network filesystems, and of filesystems that share a host's files with a virtual machine."""
_LOCAL_FUSE = ("fuse.fuse-overlayfs", "fuse.mergerfs")
"""FUSE filesystems with local files; nearly all other FUSE filesystems use a network (sshfs, s3fs, rclone)."""
_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


@immutable
class SurveyedImage:
    """An image, and whether it can be measured.

    Attributes:
        path: path of the image, as given or found.
        format: Pillow's name of the format, but "JPEG" for MPO pictures from phones; empty if unknown.
        width: width in pixels, as stored: the EXIF orientation is not applied.
        height: height in pixels, as stored.
        size_bytes: size of the file in bytes.
        reason: why the image cannot be measured; empty if it can. Values are "unreadable", "not a file", "empty",
            "truncated", "corrupt", "not an image that Pillow knows", "CMYK", "I;16", "16 bits per channel", "several
            pictures", "too large", "vector graphics", "takes too long", "kills the decoder: SIGSEGV" and similar ones.
    """

    path: Path
    format: str = ""
    width: int = 0
    height: int = 0
    size_bytes: int = 0
    reason: str = ""

    @property
    def megapixels(self) -> float:
        """Number of pixels in millions."""
        return self.width * self.height / 1e6


def list_workloads(request: BenchRequest) -> tuple[str, ...]:
    """Return the names of the workloads to measure; a single empty name stands for the user's own images.

    Raises:
        UsageError: a requested workload does not exist.
    """
    if request.paths:
        return ("",)
    for name in request.workloads:
        if name not in WORKLOADS:
            raise UsageError(f"no workload is named {name!r}", hint=f"choose from: {', '.join(WORKLOADS)}")
    return request.workloads or tuple(WORKLOADS)


def prepare_workload(context: BenchContext, name: str) -> tuple[Workload, Job, tuple[SurveyedImage, ...]]:
    """Find or generate the images of a workload, and choose those to measure.

    Args:
        context: target, request and effort.
        name: name of a generated workload; empty for the user's own images.

    Returns:
        The workload, the job of the baseline, and facts about each image, in the order of the job.

    Raises:
        UndeterminedError: no image was found, or none that can be measured.
        FailedError: the photos cannot be generated, or the images cannot be examined.
    """
    try:
        workload, images = _generate_images(context, name) if name else _find_images(context)
    except NotLoadedError as error:
        problem = "cannot generate photos" if name else "cannot examine the images"
        hint = f"fastinstall doctor --prefix {quote(context.environment.prefix)}"
        raise FailedError(f"{problem}: {error.reason}", hint=hint) from error
    job = Job(
        python=context.python,
        images=tuple(each.path for each in images),
        formats=tuple(each.format for each in images),
        pipeline=context.request.pipeline,
        variables=context.session.variables,
        loader=context.request.loader,
        tensor=not context.request.quick,
    )
    return workload, job, images


def _generate_images(context: BenchContext, name: str) -> tuple[Workload, tuple[SurveyedImage, ...]]:
    title, _, quick_count = WORKLOADS[name]
    directory = context.space / name
    directory.mkdir(exist_ok=True)
    context.session.emit(Started(stage="photos", message=f"generating photos: {title}"))
    count = context.request.samples or (quick_count if context.request.quick else None)
    paths = generate_photos(name, directory, context.python, context.session.variables, count)
    good, _ = _choose_images(context, paths)
    workload = describe_workload(title, directory, len(paths), good, ())
    return replace(workload, generated=True), good


def generate_photos(
    name: str, directory: Path, python: Path, variables: Mapping[str, str], count: int | None = None
) -> tuple[Path, ...]:
    """Generate the photos of a workload: 24 of "500px" (1.1 MB), 4 of "12mp" (9.4 MB), 12 of "png" (8 MB).

    The same PIL writes the same files every time, in 0.2 to 0.8 s per workload (measured 2026-11-22).

    Args:
        name: the workload, one of `WORKLOADS`.
        directory: an existing directory to write the photos to.
        python: path of the target's interpreter, which writes the photos.
        variables: the complete environment of the process.
        count: number of photos, limited to about 100 MB; None for the default number.

    Raises:
        NotLoadedError: the interpreter has no PIL, or the process failed, died or hung.
    """
    number = min(count or 0, WORKLOADS[name][1])
    with start_target(python, variables) as target:
        names = target.ask("_photos.write", _GENERATING_SECONDS, name=name, directory=str(directory), count=number)
    return tuple(directory / each for each in names)


def _find_images(context: BenchContext) -> tuple[Workload, tuple[SurveyedImage, ...]]:
    places = [Path(each) for each in context.request.paths]
    few = [str(each) for each in places[:_NAMED]]
    named = listing(few) if len(places) <= _NAMED else f"{', '.join(few)} and {len(places) - _NAMED} more"
    context.session.emit(Started(stage="search", message=f"looking for images in {named}"))
    images, others, unreadable, is_complete = find_images(places)
    if not images:
        others_found = format_count(others, "other file") if others else "no files"
        others_found += f", and {len(unreadable)} unreadable directories" if unreadable else ""
        raise UndeterminedError(
            f"no images in {named}: {others_found}", hint="fastinstall bench DIR, with images in DIR"
        )
    if not is_complete:
        context.remark(f"the search for images ended early, after {len(images)} of them")
    if unreadable:
        context.remark(f"{len(unreadable)} directories could not be read: {unreadable[0]}, ...")
    good, refused = _choose_images(context, spread_evenly(images))
    if not good:
        counted = Counter(each.reason for each in refused).most_common()
        reasons = listing(f"{count} {reason}" for reason, count in counted)
        problem = f"none of the images in {named} can be measured: {len(refused)} examined, {reasons}"
        raise UndeterminedError(problem, hint="fastinstall bench DIR, with intact images in DIR")
    common = Path(os.path.commonpath([each.absolute() for each in places]))
    directory = common if common.is_dir() else common.parent
    return describe_workload(f"images of {named}", directory, len(images), good, refused), good


def describe_workload(
    name: str, directory: PurePath, count: int, chosen: Sequence[SurveyedImage], refused: Sequence[SurveyedImage]
) -> Workload:
    """Return the workload with the figures of the chosen images.

    Args:
        name: name for people.
        directory: the directory that contains the images.
        count: number of image files found.
        chosen: the images to measure.
        refused: images that cannot be measured, each with its reason.
    """
    unmeasured = []
    for reason, number in Counter(each.reason for each in refused).most_common():
        examples = [str(each.path) for each in refused if each.reason == reason][:_EXAMPLES]
        unmeasured.append(Unmeasured(reason=reason, count=number, examples=tuple(examples)))
    return Workload(
        name=name,
        directory=directory,
        files=count,
        images=len(chosen),
        formats=dict(Counter(each.format for each in chosen).most_common()),
        mean_bytes=round(statistics.fmean(each.size_bytes for each in chosen)),
        megapixels=round(statistics.fmean(each.megapixels for each in chosen), 4),
        width=round(statistics.median(each.width for each in chosen)),
        height=round(statistics.median(each.height for each in chosen)),
        unmeasured=tuple(unmeasured),
        filesystem=filesystem_of(Path(directory)),
    )


def _choose_images(
    context: BenchContext, ordered: Sequence[Path]
) -> tuple[tuple[SurveyedImage, ...], tuple[SurveyedImage, ...]]:
    """Examine images in order until enough can be measured; return the chosen images, and the refused ones.

    At most three times as many images as wanted are examined.
    """
    step = context.request.samples or context.effort.sample
    good: list[SurveyedImage] = []
    refused: list[SurveyedImage] = []
    fitting = 0
    for start in range(0, min(len(ordered), 3 * step), step):
        for each in judge_images(ordered[start : start + step], context.python, context.session.variables):
            (refused if each.reason else good).append(each)
        fitting = count_fitting(context.effort, [each.megapixels for each in good], context.request.samples)
        if len(good) >= step or fitting < len(good):
            break
    return tuple(good[:fitting]), tuple(refused)


def count_fitting(effort: Effort, megapixels: Sequence[float], requested: int | None) -> int:
    """Return how many images to measure.

    Args:
        effort: the limits of the run.
        megapixels: sizes of the images, in the order in which they are chosen.
        requested: number of images that the user requested; None for as many as fit into the time.
    """
    if requested is not None:
        return min(requested, len(megapixels))
    costs = accumulate(_MS_PER_IMAGE + _MS_PER_MEGAPIXEL * each for each in megapixels[: effort.sample])
    fitting = sum(ms <= 1000 * effort.pass_seconds for ms in costs)
    return min(len(megapixels), max(effort.least_sample, fitting))


def judge_images(
    images: Sequence[Path],
    python: Path,
    variables: Mapping[str, str],
    site: Sequence[Path] = (),
    patience: float = _PATIENCE,
) -> tuple[SurveyedImage, ...]:
    """Decode each image once in the target, and return facts about it, with the reason if it cannot be measured.

    If an image kills the process or takes too long, this becomes the image's reason, and a new process continues with
    the next image.

    Args:
        images: paths of the images; a path that is not a regular file is refused with a reason.
        python: path of the target's interpreter, which decodes.
        variables: the complete environment of the process.
        site: directories for the front of `sys.path`, with another PIL.
        patience: seconds allowed for each image.

    Raises:
        NotLoadedError: the target has no PIL, or cannot import it.
    """
    judged: list[SurveyedImage] = []
    while len(judged) < len(images):
        with start_target(python, variables, site) as target:
            target.ask("_survey.prepare", _START_SECONDS)
            for path in images[len(judged) :]:
                try:
                    judged.append(SurveyedImage(path=path, **target.ask("_survey.judge", patience, path=str(path))))
                except NotLoadedError as error:
                    is_hung = error.outcome is CandidateOutcome.HUNG
                    reason = "takes too long" if is_hung else f"kills the decoder: {error.ending}"
                    judged.append(SurveyedImage(path=path, reason=reason))
                    break
    return tuple(judged)


def find_images(places: Sequence[Path]) -> tuple[list[Path], int, list[Path], bool]:
    """Search directories for images, by file extension.

    Files in `places` are returned whatever their extension. Hidden directories are skipped, and each directory is
    searched once, even if several links lead to it.

    Args:
        places: existing directories and files.

    Returns:
        Paths of the images, sorted; number of other files; directories that could not be listed; whether the search
        finished in time.
    """
    images = {str(place) for place in places if not place.is_dir()}
    others, unreadable, seen, end = 0, list[Path](), set[str](), time.monotonic() + _SEARCH_SECONDS
    is_complete = True
    walks = (
        os.walk(place, onerror=lambda error: unreadable.append(Path(error.filename)), followlinks=True)
        for place in places
        if place.is_dir()
    )
    for directory, inner, names in chain.from_iterable(walks):
        if time.monotonic() >= end:
            is_complete = False
            break
        real = os.path.realpath(directory)
        inner[:] = [each for each in inner if real not in seen and each[0] != "." and each not in _SKIPPED]
        paths = [os.path.join(directory, name) for name in names if real not in seen]  # noqa: PTH118 (Path is too slow)
        matching = [each for each in paths if each.lower().endswith(_EXTENSIONS) and os.path.isfile(each)]  # noqa: PTH113 (Path is too slow)
        images.update(matching)
        others += len(paths) - len(matching)
        seen.add(real)
    return sorted(map(Path, images)), others, unreadable, is_complete


def spread_evenly(images: Sequence[Path]) -> tuple[Path, ...]:
    """Reorder images so that any number of the first images has about the same mix of file extensions as all images.

    The order is the same in every run.
    """
    by_kind: dict[str, list[Path]] = {}
    for each in sorted(images, key=lambda each: hashlib.sha1(os.fsencode(each), usedforsecurity=False).digest()):
        by_kind.setdefault(each.suffix.lower(), []).append(each)
    placed = [((number + 0.5) / len(kind), each) for kind in by_kind.values() for number, each in enumerate(kind)]
    return tuple(each for _, each in sorted(placed, key=lambda each: each[0]))


def filesystem_of(path: Path, root: Path = Path("/")) -> Filesystem:
    """Return the filesystem of a path, or of its nearest existing parent. Source: proc_pid_mountinfo(5).

    Args:
        path: a file or directory; links are followed.
        root: directory used as "/", for the copied files of another machine.
    """
    real = path.resolve() if root == Path("/") else path
    mountinfo = foreign.text_or_empty(root / "proc/self/mountinfo")
    point, kind = PurePath("/"), ""
    for line in mountinfo.splitlines():
        mount, _, filesystem = line.partition(" - ")
        # the kernel writes space, tab, newline and backslash as octal numbers
        place = PurePath(re.sub(r"\\([0-7]{3})", lambda escaped: chr(int(escaped[1], 8)), mount.split(" ")[4]))
        # the longest mount point wins; among equal ones the last, which hides the others
        if real.is_relative_to(place) and len(place.parts) >= len(point.parts):
            point, kind = place, filesystem.split(" ")[0]
    return Filesystem(
        mount=point,
        type=kind,
        network=kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE),
        memory=kind in _MEMORY,
        free_bytes=shutil.disk_usage(find_nearest(real)).free,
    )
