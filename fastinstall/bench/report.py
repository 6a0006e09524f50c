"""Requests and results of measuring image loading: images, candidates, verdict, advice, report.

Values of the document `bench`. Nothing is measured or decided here.
"""

from dataclasses import field
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.speed import SpeedTable


class CandidateKind(StrEnum):
    """What a candidate changes, compared with the environment as it is."""

    BASELINE = "baseline"
    CONTROL = "control"
    STACK = "stack"
    DECODER = "decoder"
    SETTING = "setting"
    STORAGE = "storage"


class CandidateOutcome(StrEnum):
    """The outcome of a candidate."""

    MEASURED = "measured"
    MISSING = "missing"
    UNSUITED = "unsuited"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"


class LoadingEngine(StrEnum):
    """Who distributes the work to workers and collects the batches."""

    TORCH = "torch DataLoader"
    OWN = "processes, as a DataLoader uses them"
    THREADS = "threads of one process, which end in arrays"
    BATCHED = "a pipeline of batches, by threads of its own"


@immutable
class LoadingRate:
    """A loader with some number of workers, batches counted as they arrive.

    Attributes:
        workers: number of worker processes, or of threads where the engine uses threads; 0 loads in the process itself.
        engine: who collects the batches.
        images_per_second: after the first batches.
        first_batch_seconds: from the start of the workers to the first batch.
        peak_bytes: the peak memory of the process and its workers together (each its own share).
    """

    workers: int
    engine: LoadingEngine
    images_per_second: float
    first_batch_seconds: float
    peak_bytes: int = 0


@immutable
class Difference:
    """How far a candidate's arrays are from the baseline's, on the same images.

    Attributes:
        mean: mean absolute difference of a channel, in levels of 0 to 255.
        highest: the largest difference of any sample, in levels.
        images: how many were compared.
        same_shape: False if the arrays cannot be compared at all.
    """

    mean: float
    highest: int
    images: int
    same_shape: bool = True


@immutable
class Gain:
    """How many times as fast as the baseline, both measured in turn.

    Attributes:
        ratio: the median of the rounds; above 1 is faster.
        low: the lowest round; of six or more, without one in six at either end.
        high: the highest of the rounds' gains.
        rounds: number of rounds that it is of.
    """

    ratio: float
    low: float
    high: float
    rounds: int


@immutable
class Candidate:
    """One way to load the workload; once it was tried, with its measurements or the reason why there are none.

    Attributes:
        name: stable, in kebab case: "pillow-draft", "opencv-area", "huge-pages".
        title: its name in tables and advice.
        kind: which part of the environment it changes.
        adapter: the name of the adapter that decodes and resizes ("pillow").
        stack: whose packages: "in place", "official wheel", "fastinstall", "its own" (fetched into the cache).
        site: directories at the front of the path of its process, with these packages.
        variables: environment variables for its start.
        storage: where the images are: "files", or the name of a store.
        aliased: whether its resize is known to alias: faster, but not the same picture.
        outcome: whether it is measured, else what keeps it from being; some of that is known before trying.
        reason: why it was not measured, in words: what to install, what killed it.
        versions: of the packages involved, name to version.
        stages: of the baseline: milliseconds of each stage for one image, in order of loading.
        cold_read_ms: of the baseline: milliseconds to read a file that is not in the page cache; None if unknown.
        images_per_second: the rate of one process; of a candidate, the baseline's rate times the gain.
        peak_bytes: the peak memory of one process (resident).
        gain: over the baseline, one process; None for the baseline itself.
        rates: with worker processes, if measured.
        thread_rates: with threads of one process, up to an array, if measured.
        difference: of the arrays; None if they were not compared.
        stored_bytes: size of the measured images in its storage; None for files.
        stored_ratio: the same, as a multiple of the files'.
        left_out: how many images of the workload it could not load, though the baseline can.
    """

    name: str
    title: str
    kind: CandidateKind
    adapter: str = "pillow"
    stack: str = "in place"
    site: tuple[Path, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    storage: str = "files"
    aliased: bool = False
    outcome: CandidateOutcome = CandidateOutcome.MEASURED
    reason: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    cold_read_ms: float | None = None
    images_per_second: float = 0.0
    peak_bytes: int = 0
    gain: Gain | None = None
    rates: tuple[LoadingRate, ...] = ()
    thread_rates: tuple[LoadingRate, ...] = ()
    difference: Difference | None = None
    stored_bytes: int | None = None
    stored_ratio: float | None = None
    left_out: int = 0

    @property
    def ratio(self) -> float:
        """How many times as fast as the baseline; 0 if that was not measured."""
        return self.gain.ratio if self.gain is not None else 0.0


@immutable
class ImagePipeline:
    """What is done to every image.

    Attributes:
        shorter: length of the shorter side after the resize, in pixels.
        crop: side of the centre crop, in pixels; 0 for none.
        filter: of the resize: "bilinear", "bicubic", "lanczos".
    """

    shorter: int = 256
    crop: int = 224
    filter: str = "bilinear"


@immutable
class Unmeasured:
    """Images that were left out, for one reason.

    Attributes:
        reason: "truncated", "corrupt", "unreadable", "CMYK", "too large", "kills the decoder: SIGSEGV", ...
        count: number of images with this reason.
        examples: some of their paths.
    """

    reason: str
    count: int
    examples: tuple[str, ...]


@immutable
class Workload:
    """The images to load.

    Attributes:
        name: for people: "photos of ./train", "500 px JPEG (generated)".
        directory: the directory that the images lie below.
        files: number of files found, up to the search's limit.
        images: number of measured images.
        formats: of the measured ones: "JPEG" to its number.
        mean_bytes: mean size of a file in bytes.
        megapixels: of an image, mean.
        width: median width of the images, in pixels.
        height: median height of the images, in pixels.
        generated: whether they were generated for the measurement.
        unmeasured: the images left out, with reasons.
        filesystem: that contains them; None if unknown.
    """

    name: str
    directory: PurePath
    files: int
    images: int
    formats: dict[str, int]
    mean_bytes: int
    megapixels: float
    width: int
    height: int
    generated: bool = False
    unmeasured: tuple[Unmeasured, ...] = ()
    filesystem: Filesystem | None = None


class LoadingLimit(StrEnum):
    """What limits the loading of images."""

    IO = "I/O-bound"
    DECODE = "decode-bound"
    RESIZE = "resize-bound"
    COPY = "copy-bound"
    FAST_ENOUGH = "fast enough"
    UNDETERMINED = "undetermined"
    """No stage stands out, or the loader has no separate stages."""


@immutable
class StageCost:
    """The time of one stage for one image.

    Attributes:
        name: of the stage: "read", "read from disk", "decode", ..., "hand over".
        limit: what limits loading if this stage takes most of it.
        ms: milliseconds that it takes for one image.
        share: of the total, 0 to 1.
    """

    name: str
    limit: LoadingLimit
    ms: float
    share: float


@immutable
class BottleneckVerdict:
    """What limits the loading, in one sentence.

    Attributes:
        bound: the part of loading that limits it.
        sentence: the verdict in words for a person.
        stages: the time of every stage, from the files' real place, and of handing images over.
        evidence: where the files come from, if that matters, one line each.
        target_rate: images per second that the user needs; None if not given.
        reached_rate: images per second with the best number of workers.
    """

    bound: LoadingLimit
    sentence: str
    stages: tuple[StageCost, ...]
    evidence: tuple[str, ...] = ()
    target_rate: float | None = None
    reached_rate: float


@immutable
class SpeedAdvice:
    """Something to do, with its gain; or why nothing is to be done.

    Attributes:
        candidate: name of the candidate behind it; empty if there is none.
        gain: measured here; None if there is nothing to do.
        message: what it is, and what speaks against it.
        evidence: the measurement behind a verdict that nothing is to be done.
        remedy: what to do, in words, with its cost; empty if there is nothing to do.
        command: to paste; empty if there is none.
        code: the line of code; empty if a command does it.
        recommended: the first to try: the largest gain without changing pictures.
    """

    candidate: str = ""
    gain: Gain | None = None
    message: str
    evidence: str = ""
    remedy: str = ""
    command: str = ""
    code: str = ""
    recommended: bool = False


@immutable
class WorkloadResult:
    """Everything about one workload.

    Attributes:
        workload: the images that were measured.
        pipeline: what is done to them.
        baseline: the environment as it is, or the user's loader.
        candidates: the others, ordered by gain; those without one last.
        verdict: what keeps loading from being faster.
        advice: ordered by gain; pointers last.
    """

    workload: Workload
    pipeline: ImagePipeline
    baseline: Candidate
    candidates: tuple[Candidate, ...]
    verdict: BottleneckVerdict
    advice: tuple[SpeedAdvice, ...]


@immutable
class BenchReport:
    """The result of `bench`.

    Attributes:
        prefix: root of the environment that was measured.
        python: version of the target's interpreter.
        machine: the limits of loaders on the measured machine.
        measured_at: when it was measured, ISO 8601 in UTC.
        tool_version: version of the fastinstall that measured.
        effort: how thoroughly: "quick" or "full".
        seconds: how long the whole measurement took.
        workloads: each with its verdict.
        operations: before and after, by operation; None if not requested.
        remarks: for the reader: what was left out for lack of time, what was built or fetched.
    """

    prefix: PurePath
    python: str
    machine: LoaderLimits
    measured_at: str
    tool_version: str
    effort: str
    seconds: float
    workloads: tuple[WorkloadResult, ...]
    operations: SpeedTable | None = None
    remarks: tuple[str, ...] = ()


@immutable
class BenchRequest:
    """The request.

    Attributes:
        paths: directories and files with images; empty for generated ones.
        workloads: names of generated workloads; empty for all of them.
        pipeline: what is done to every image.
        quick: whether to answer in 20 seconds.
        samples: number of images to measure; None for what fits the time.
        workers: numbers of workers to try; empty for 0, 1, ... up to the usable CPUs.
        threads: numbers of threads of one process to try; empty for 1 and the usable CPUs, of a quick run for none.
        target_rate: images per second that training consumes.
        loader: FILE[:FUNCTION] of the user's loader (path in, array out); it becomes the baseline.
        candidates: names; empty for all that fit.
        bring: adapters and stores whose packages are fetched into our cache; ("all",) for every one.
        build: whether to make the fastinstall build if it is not in the cache.
        loading: whether to measure workloads.
        operations: whether to measure the operations of PIL.
    """

    paths: tuple[PurePath, ...] = ()
    workloads: tuple[str, ...] = ()
    pipeline: ImagePipeline = ImagePipeline()
    quick: bool = False
    samples: int | None = None
    workers: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    target_rate: float | None = None
    loader: str = ""
    candidates: tuple[str, ...] = ()
    bring: tuple[str, ...] = ()
    build: bool = True
    loading: bool = True
    operations: bool = True
