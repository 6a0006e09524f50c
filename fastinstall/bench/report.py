"""Values that describe a measurement of image loading: request, images, candidates, verdict, advice, report.

They form the document `bench`. This module measures and decides nothing.
"""

from dataclasses import field
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.speed import SpeedTable


class CandidateKind(StrEnum):
    """What a candidate changes in the environment."""

    BASELINE = "baseline"
    CONTROL = "control"
    STACK = "stack"
    DECODER = "decoder"
    SETTING = "setting"
    STORAGE = "storage"


class CandidateOutcome(StrEnum):
    """Whether a candidate was measured, or why not."""

    MEASURED = "measured"
    MISSING = "missing"
    UNSUITED = "unsuited"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"


class LoadingEngine(StrEnum):
    """The code that distributes images to workers and collects the batches."""

    TORCH = "torch DataLoader"
    OWN = "processes, as a DataLoader uses them"
    THREADS = "threads of one process, which end in arrays"
    BATCHED = "a pipeline of batches, by threads of its own"


@immutable
class LoadingRate:
    """The speed of a loader with a given number of workers.

    Attributes:
        workers: number of worker processes, or of threads if the engine uses threads; 0 for loading without workers.
        engine: the code that collects the batches.
        images_per_second: images per second, after the first batches.
        first_batch_seconds: time from the start of the workers to the first batch.
        peak_bytes: peak memory of the process and its workers together, in bytes; shared pages count once.
    """

    workers: int
    engine: LoadingEngine
    images_per_second: float
    first_batch_seconds: float
    peak_bytes: int = 0


@immutable
class Difference:
    """The difference between a candidate's arrays and the baseline's, for the same images.

    Attributes:
        mean: mean absolute difference of the samples, in levels of 0 to 255.
        highest: the largest difference of any sample, in levels.
        images: number of images that were compared.
        same_shape: False if the arrays have different sizes and cannot be compared.
    """

    mean: float
    highest: int
    images: int
    same_shape: bool = True


@immutable
class Gain:
    """The speed of a candidate as a multiple of the baseline's speed; the two are measured in turn.

    Attributes:
        ratio: median over the rounds; above 1 is faster.
        low: the lowest ratio of a round, without outliers: for every six rounds, the lowest and the highest are left
            out.
        high: the highest ratio of a round, without outliers.
        rounds: number of rounds.
    """

    ratio: float
    low: float
    high: float
    rounds: int


@immutable
class Candidate:
    """One way to load the workload, with its measurements, or with the reason why it was not measured.

    Attributes:
        name: stable name in kebab case: "pillow-draft", "opencv-area", "huge-pages".
        title: the candidate's name in tables and advice.
        kind: which part of the environment the candidate changes.
        adapter: the name of the adapter that decodes and resizes ("pillow").
        stack: source of the packages: "in place", "official wheel", "fastinstall", "its own" (fetched into the cache).
        site: directories with these packages, for the front of the process's `sys.path`.
        variables: additional environment variables of the process.
        storage: "files", or the name of the store that holds the images.
        aliased: whether the resize is known to alias, which is faster but gives another picture.
        outcome: whether the candidate was measured, or why not; "missing" and "unsuited" are known before measuring.
        reason: why the candidate was not measured, in words: what to install, or how the process died.
        versions: versions of the packages involved, by name.
        stages: for the baseline: milliseconds per image of each stage, in order of loading.
        cold_read_ms: for the baseline: milliseconds to read a file that is not in the page cache; None if unknown.
        images_per_second: the rate of one process; for a candidate, it is the baseline's rate times the gain.
        peak_bytes: peak resident memory of one process, in bytes.
        gain: the gain over the baseline, with one process each; None for the baseline, or if not measured.
        rates: the rates with worker processes; empty if not measured.
        thread_rates: the rates with threads of one process, which load arrays, not tensors; empty if not measured.
        difference: difference of the candidate's arrays from the baseline's; None if they were not compared.
        stored_bytes: size of the store with the measured images, in bytes; None without a store.
        stored_ratio: size of the store as a multiple of the size of the image files; None without a store.
        left_out: number of measured images that the baseline can load, but this candidate cannot.
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
        """The speed as a multiple of the baseline's; 0 if the candidate was not measured."""
        return self.gain.ratio if self.gain is not None else 0.0


@immutable
class ImagePipeline:
    """How every image is processed: resized, then cropped to the centre.

    Attributes:
        shorter: length of the shorter side after the resize, in pixels.
        crop: side of the centre crop, in pixels; 0 for no crop.
        filter: filter of the resize: "bilinear", "bicubic" or "lanczos".
    """

    shorter: int = 256
    crop: int = 224
    filter: str = "bilinear"


@immutable
class Unmeasured:
    """Images that were left out for the same reason.

    Attributes:
        reason: "truncated", "corrupt", "unreadable", "CMYK", "too large", "kills the decoder: SIGSEGV", ...
        count: number of images with this reason.
        examples: paths of some of these images.
    """

    reason: str
    count: int
    examples: tuple[str, ...]


@immutable
class Workload:
    """The images to load.

    Attributes:
        name: name for people: "images of ./train", "500 px JPEG (generated)".
        directory: the directory that contains the images, possibly in subdirectories.
        files: number of image files found; the search stops after five seconds.
        images: number of measured images.
        formats: number of measured images by format ("JPEG").
        mean_bytes: mean size of a file in bytes.
        megapixels: mean number of megapixels per image.
        width: median width of the images, in pixels.
        height: median height of the images, in pixels.
        generated: whether the images were generated for the measurement.
        unmeasured: the images that were left out, by reason.
        filesystem: the filesystem that contains the images; None if unknown.
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
    """The part of loading that limits its speed."""

    IO = "I/O-bound"
    DECODE = "decode-bound"
    RESIZE = "resize-bound"
    COPY = "copy-bound"
    FAST_ENOUGH = "fast enough"
    UNDETERMINED = "undetermined"
    """No stage stands out, or the loader has no separate stages."""


@immutable
class StageCost:
    """The time that one stage of loading takes per image.

    Attributes:
        name: name of the stage: "read", "read from disk", "decode", ..., "hand over".
        limit: the part of loading that the stage belongs to. A part limits the speed if its stages take most of the
            time.
        ms: milliseconds per image.
        share: share of the total time, 0 to 1.
    """

    name: str
    limit: LoadingLimit
    ms: float
    share: float


@immutable
class BottleneckVerdict:
    """The verdict on what limits the loading.

    Attributes:
        bound: the part of loading that limits its speed.
        sentence: the verdict in words for people.
        stages: the time of every stage; the time to read is that of the disk if the files exceed the page cache.
        evidence: sentences about reading the files from disk or network, if that matters.
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
    """A change to make, with its gain, or a remark such as the reason to change nothing.

    Attributes:
        candidate: name of the candidate that the advice is about; empty if there is none.
        gain: the gain measured on this machine; None for a remark.
        message: the change in a few words, with its disadvantages; or the remark.
        evidence: the measurement that supports a remark; empty for a change.
        remedy: what to do, in words, with its cost; empty for a remark.
        command: a shell command to paste; empty if there is none.
        code: the line of code to use; empty if a command suffices.
        recommended: whether to try this change first: it is the simplest of those that keep the pictures and have about
            the largest gain.
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
    """The results for one workload.

    Attributes:
        workload: the images that were measured.
        pipeline: resize and crop of every image.
        baseline: the environment as it is, or the user's loader.
        candidates: the candidates, the largest gain first; those that were not measured come last.
        verdict: what limits the loading.
        advice: remarks, then the changes to make, the largest gain first.
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
        measured_at: time of the measurement, ISO 8601 in UTC.
        tool_version: version of the fastinstall that measured.
        effort: how thoroughly it measured: "quick" or "full".
        seconds: duration of the whole measurement.
        workloads: the results for each workload.
        operations: times of single PIL operations with the old and the new stack; None if not measured.
        remarks: sentences for people, such as what was left out for lack of time, or what was built or fetched.
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
    """The user's request, from the flags of `bench`.

    Attributes:
        paths: directories and files with images; empty for generated images.
        workloads: names of generated workloads; empty for all of them.
        pipeline: resize and crop of every image.
        quick: whether to finish in 20 seconds.
        samples: number of images to measure; None for as many as fit into the time.
        workers: numbers of workers to try; if empty, they are chosen by the number of usable CPUs.
        threads: numbers of threads of one process to try. If empty: 1 and the number of usable CPUs in a full run, and
            no threads in a quick run.
        target_rate: images per second that training consumes; None if not given.
        loader: FILE[:FUNCTION] of the user's loader, which becomes the baseline: a function that takes a path and
            returns an array. Empty for none.
        candidates: names of candidates to measure; empty for all that fit into the time.
        bring: names of candidates whose packages are fetched into our cache; ("all",) for all that may be fetched.
        build: whether to build fastinstall's Pillow if it is not in the cache.
        loading: whether to measure workloads.
        operations: whether to measure single operations of PIL.
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
