"""Ways of loading images, and what was measured of each."""

from enum import StrEnum

from fastinstall.model.immutable import immutable


class Stage(StrEnum):
    """What happens to an image on its way to a training step, in this order."""

    READ = "read"
    DECODE = "decode"
    CONVERT = "convert"
    RESIZE = "resize"
    CROP = "crop"
    ARRAY = "array"
    TENSOR = "tensor"


class Kind(StrEnum):
    """What a candidate changes, compared with the environment as it is."""

    BASELINE = "baseline"
    STACK = "stack"
    DECODER = "decoder"
    SETTING = "setting"
    STORAGE = "storage"
    TOGETHER = "together"


class Outcome(StrEnum):
    """What became of a candidate."""

    MEASURED = "measured"
    MISSING = "missing"
    UNSUITED = "unsuited"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"


@immutable
class StageTime:
    """One stage of a pipeline.

    Attributes:
        stage: which one; a library that does several at once is timed as the first of them.
        ms: milliseconds an image.
        share: of the whole, 0 to 1.
    """

    stage: Stage
    ms: float
    share: float


@immutable
class Timing:
    """One process loading the workload, image by image.

    Attributes:
        stages: in order.
        ms: milliseconds an image, all stages.
        images_per_second: 1000 / ms.
        peak_bytes: the most memory that the process had (resident).
        cold_read_ms: milliseconds to read a file that is not in the page cache; None where that could not be had.
    """

    stages: tuple[StageTime, ...]
    ms: float
    images_per_second: float
    peak_bytes: int = 0
    cold_read_ms: float | None = None


class WorkerStart(StrEnum):
    """How worker processes come to be."""

    NONE = "in the process itself"
    FORK = "fork"
    SPAWN = "spawn"


class Engine(StrEnum):
    """Who hands the work to workers and collects the batches."""

    TORCH = "torch DataLoader"
    OWN = "processes, as a DataLoader uses them"


@immutable
class LoadingRate:
    """A loader with some number of workers, batches counted as they arrive.

    Attributes:
        workers: worker processes; 0 loads in the process itself.
        start: how they come to be.
        engine: who collects the batches.
        cold: whether the files were out of the page cache.
        images_per_second: once batches flow.
        first_batch_seconds: from the start of the workers to the first batch.
        peak_bytes: the most memory of the process and its workers together (each its own share).
    """

    workers: int
    start: WorkerStart
    engine: Engine
    cold: bool
    images_per_second: float
    first_batch_seconds: float
    peak_bytes: int = 0


@immutable
class Difference:
    """How far the arrays of a candidate lie from the baseline's, on the same images.

    Attributes:
        mean: mean absolute difference of a channel, in levels of 0 to 255.
        highest: the largest one.
        images: how many were compared.
        same_shape: False where the arrays cannot be compared at all.
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
        low: the least of the rounds.
        high: the greatest.
        rounds: how many.
    """

    ratio: float
    low: float
    high: float
    rounds: int


@immutable
class Candidate:
    """One way to load the workload.

    Attributes:
        name: stable, in kebab case: "pillow-draft", "opencv-area", "huge-pages".
        title: for people.
        kind: what it changes.
        adapter: the name of the adapter that decodes and resizes ("pillow").
        stack: whose packages: "in place", "official wheel", "fastinstall", "its own" (brought to the cache).
        variables: environment variables that it is started with.
        storage: what the images lie in: "files", or the name of a store.
        aliased: whether its resize is known to alias: faster, and not the same picture.
    """

    name: str
    title: str
    kind: Kind
    adapter: str = "pillow"
    stack: str = "in place"
    variables: dict[str, str]
    storage: str = "files"
    aliased: bool = False


@immutable
class CandidateResult:
    """What was measured of a candidate, or why nothing was.

    Attributes:
        candidate: which one.
        outcome: what became of it.
        reason: in words, where it was not measured: what to install, what killed it.
        versions: of the packages that took part, name to version.
        timing: one process; of a candidate, as it would be at the time when the baseline was measured by itself.
        gain: against the baseline, one process; None for the baseline itself.
        rates: with workers, where that was measured.
        difference: of the arrays; None where they were not compared.
        stored_bytes: what the images take in its storage, measured ones only; None for files.
        stored_ratio: the same, as a multiple of the files'.
        left_out: how many images of the workload it could not load, though the baseline can.
    """

    candidate: Candidate
    outcome: Outcome
    reason: str = ""
    versions: dict[str, str]
    timing: Timing | None = None
    gain: Gain | None = None
    rates: tuple[LoadingRate, ...] = ()
    difference: Difference | None = None
    stored_bytes: int | None = None
    stored_ratio: float | None = None
    left_out: int = 0
