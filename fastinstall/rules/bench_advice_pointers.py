"""What is worth a look though nothing of it was measured here: no gain is promised. Pure.

What can only help where torch and a GPU are is told only there; what speeds up the training itself, only where the
loading is fast enough for it.
"""

from collections.abc import Iterator

from fastinstall.model.bench import Advice, Bound, Verdict
from fastinstall.model.finding import Remedy
from fastinstall.model.loading import Engine, Stage, WorkerStart
from fastinstall.rules import bench_advice_words as words
from fastinstall.rules.bench_advice_ways import AdviceContext
from fastinstall.rules.bench_advice_workers import slow_starts

_PER_LOADER = (
    (
        "pin_memory=True copies batches to the GPU while it computes; with non_blocking=True on the GPU's side",
        "pin_memory=True  # DataLoader; then: batch.to(device, non_blocking=True)",
        'PyTorch documentation, "torch.utils.data", section "Memory Pinning"; it costs memory that cannot be swapped',
    ),
    (
        "prefetch_factor says how many batches each worker keeps ready: more of them bridge images that take long",
        "prefetch_factor=4  # DataLoader; 2 is what it does by itself",
        'PyTorch documentation, "torch.utils.data"; each batch more costs its memory in every worker',
    ),
)
_PER_TRAINING = (
    (
        "mixed precision computes in 16 bits where that is safe",
        'torch.autocast(device_type="cuda")',
        'PyTorch documentation, "Automatic Mixed Precision examples"',
    ),
    (
        "cudnn.benchmark chooses the fastest convolutions, for batches of one size",
        "torch.backends.cudnn.benchmark = True",
        'PyTorch documentation, "Performance Tuning Guide"',
    ),
    (
        "channels_last lays images out as tensor cores read them",
        "model = model.to(memory_format=torch.channels_last)",
        'PyTorch documentation, "Channels Last Memory Format in PyTorch"',
    ),
)


def list_pointers(context: AdviceContext, verdict: Verdict) -> Iterator[Advice]:
    """Everything that is worth a look here."""
    yield from _persistent(context)
    if has_torch(context) and context.surroundings.has_gpu:
        for message, code, page in (*_per_loader(verdict), *_per_training(verdict)):
            yield _pointer(message, code, page)


def has_torch(context: AdviceContext) -> bool:
    """Whether torch took part in the measurement."""
    timing = context.baseline.timing
    makes_tensors = timing is not None and any(each.stage is Stage.TENSOR for each in timing.stages)
    return makes_tensors or any(rate.engine is Engine.TORCH for rate in context.baseline.rates)


def _per_loader(verdict: Verdict) -> tuple[tuple[str, str, str], ...]:
    return () if verdict.bound is Bound.FAST_ENOUGH else _PER_LOADER


def _per_training(verdict: Verdict) -> tuple[tuple[str, str, str], ...]:
    """A training that waits for its images gains nothing by computing faster."""
    waits = verdict.target_rate is not None and verdict.bound is not Bound.FAST_ENOUGH
    return () if waits else _PER_TRAINING


def _persistent(context: AdviceContext) -> Iterator[Advice]:
    slow = slow_starts(context)
    if not slow:
        return
    started = tuple(f"{rate.start}: {rate.first_batch_seconds:.1f} s to the first batch" for rate in slow)
    first = slow[0]
    workers = f"{first.workers} worker{'s' if first.workers > 1 else ''} started by {first.start}"
    message = f"the first batch of {workers} takes {first.first_batch_seconds:.1f} s, in every epoch"
    text = "keep them from epoch to epoch; they keep their memory too"
    yield _pointer(message, "persistent_workers=True", text, started)
    quick = {rate.start for rate in context.baseline.rates} - {rate.start for rate in slow}
    if WorkerStart.FORK in quick:
        text = "only where neither CUDA nor threads were started before them"
        yield _pointer("workers that are forked start sooner here", 'multiprocessing_context="fork"', text)


def _pointer(message: str, code: str, text: str, evidence: tuple[str, ...] = ()) -> Advice:
    """The evidence is of what was measured; that it helps was not."""
    finding = words.SAY.hint(message, evidence=evidence, remedy=Remedy(text=text))
    return Advice(candidate="", gain=None, finding=finding, code=code)
