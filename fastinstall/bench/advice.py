"""Turn measured gains into advice on loading images faster, with commands or code, and with the costs. Pure.

Candidates that change the pictures, fail on some images, or take too much disk space are listed with their gain, but
never recommended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import report
from fastinstall.bench.bottleneck import find_best_rate, format_rate
from fastinstall.bench.catalogue import Way, all_ways
from fastinstall.core.messages import format_bytes, quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Environment, EnvironmentKind

_WORTHWHILE = 1.05
"""The smallest gain that is worth a change, as a ratio to the baseline."""
_BEYOND_NOISE = 1.02
_WIDE = 1.5
"""If the highest ratio of a control exceeds its lowest by this factor, the measured ranges are unreliable."""
_NEARLY = 0.8
"""A candidate with less than this share of the largest gain is not about as good, even if the two ranges overlap."""
_LIKE = 1.0
"""Two pictures count as the same if the mean difference of their samples is at most this, in levels of 0 to 255."""
_MANY_TIMES = 4.0
"""Stores that exceed this multiple of the files' size are not recommended: they may no longer fit into memory."""
_PLACE_LEFT = 0.9
"""The part of the free disk space that a recommended store may take."""
_AS_GOOD = 0.95


@immutable
class AdviceContext:
    """The facts on which advice depends.

    Attributes:
        baseline: the loader with which the candidates are compared.
        workload: the measured images, and their directory.
        environment: the environment for which the advice is given.
        pipeline: resize and crop of every image.
        pillow: the requirement for the newest Pillow that other packages allow ("pillow<13").
        has_pip: whether the environment has its own pip.
    """

    baseline: report.Candidate
    workload: report.Workload
    environment: Environment
    pipeline: report.ImagePipeline = report.ImagePipeline()
    pillow: str = "pillow"
    has_pip: bool = True


def advice_for(
    candidates: Sequence[report.Candidate], verdict: report.BottleneckVerdict, context: AdviceContext
) -> tuple[report.SpeedAdvice, ...]:
    """Return the advice: remarks first, then changes, the largest gain first.

    If controls show that the machine was too busy, the first remark says so, and nothing is recommended.

    Args:
        candidates: all candidates, measured or not.
        verdict: what limits the loading.
        context: the baseline, the images and the environment.
    """
    controls = [each for each in candidates if each.gain and each.kind is report.CandidateKind.CONTROL]
    measured = [each for each in candidates if each.gain and each.kind is not report.CandidateKind.CONTROL]
    known = tuple(_describe_present_gain(measured))
    if verdict.bound is report.LoadingLimit.FAST_ENOUGH:
        reached, target = format_rate(verdict.reached_rate), format_rate(verdict.target_rate or 0.0)
        return (*known, _leave_alone(f"you load {reached} images/s and need {target}", measured))
    noise = max((each.gain.high for each in controls if each.gain), default=0.0)
    better = [each for each in measured if is_worthwhile(each, noise)]
    advised = (*(_make_advice(each, context) for each in better), *_advise_workers(context.baseline))
    ranked = sorted(advised, key=lambda each: each.gain.ratio if each.gain else 0.0, reverse=True)
    if disturbance := find_disturbance(controls):
        message = "busy machine, ranges unreliable: nothing is recommended; run it again on an idle machine"
        return (report.SpeedAdvice(message=message, evidence=disturbance), *ranked)
    alike = [each for each in measured if not _list_flaws(each, context.workload)]
    best = _choose_simplest([each for each in alike if each in better])
    if best is not None:
        marked = (replace(each, recommended=each.candidate == best.name) for each in ranked)
        return (*known, *marked)
    if not measured:
        return (*known, *ranked)
    highest = max((each.ratio for each in alike), default=0.0)
    outlook = f"you would gain {highest - 1:.0%} at most" if highest > 1 else "nothing else is faster"
    outlook = "no gain exceeds the noise of the measurement" if highest >= _WORTHWHILE else outlook
    others = "" if len(alike) == len(measured) else "without changing pictures, "
    return (*known, _leave_alone(f"{others}{outlook}", alike), *ranked)


def is_worthwhile(candidate: report.Candidate, noise: float) -> bool:
    """Return whether a candidate's gain is worth a change and exceeds `noise`, the largest gain of a control."""
    gain = candidate.gain
    return gain is not None and gain.ratio >= _WORTHWHILE and gain.low > _BEYOND_NOISE and gain.ratio > noise


def find_disturbance(controls: Iterable[report.Candidate]) -> str:
    """Return a sentence about a control whose result shows that ranges are unreliable; empty if there is none.

    The gain of a control should be 1.0. Ranges are unreliable if the range of a control is too wide, or if it does not
    include 1.0 and the gain clearly differs from 1.0.

    Args:
        controls: results of candidates that cannot change anything.
    """
    for each in controls:
        if gain := each.gain:
            is_off = not gain.low <= 1.0 <= gain.high and abs(gain.ratio - 1) > _WORTHWHILE - 1
            if is_off or gain.high > gain.low * _WIDE:
                return f"{each.name} cannot change anything here, but measured {_describe_gain(gain)}"
    return ""


def describe_picture_difference(candidate: report.Candidate) -> str:
    """Return how a candidate's pictures differ from the baseline's; empty if they are practically the same."""
    difference = candidate.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > _LIKE else ""


def rank_simplicity(candidate: report.Candidate) -> int:
    """Return how much a candidate changes, from 0 (least) to 6; the guide on bench lists the same order.

    0: a line of Pillow code; 1: an environment variable; 2: another build of Pillow; 3: a library that is installed;
    4: a library to install; 5: batches instead of a DataLoader; 6: prepared images.
    """
    if candidate.kind is report.CandidateKind.DECODER:
        way = all_ways().get(candidate.adapter)
        if way is not None and way.batched:
            return 5
        return 0 if candidate.adapter.startswith("pillow") else 3 + (candidate.stack == "its own")
    return {report.CandidateKind.SETTING: 1, report.CandidateKind.STACK: 2}.get(candidate.kind, 6)


def _choose_simplest(better: Sequence[report.Candidate]) -> report.Candidate | None:
    """Return the simplest of the candidates that are about as good as the best one; None if there are none.

    A candidate is about as good if its range overlaps the best one's, and its gain is at least `_NEARLY` times the best
    gain.
    """
    best = max(better, key=lambda each: each.ratio, default=None)
    if best is None or best.gain is None:
        return None
    low = best.gain.low
    near = [each for each in better if each.gain and each.gain.ratio >= _NEARLY * best.ratio and each.gain.high >= low]
    return min(near, key=lambda each: (rank_simplicity(each), -each.ratio))


def _describe_gain(gain: report.Gain) -> str:
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def _describe_present_gain(measured: Sequence[report.Candidate]) -> Iterator[report.SpeedAdvice]:
    """Yield a remark on the gain that the installed build has over the official wheel, if the wheel is slower."""
    for each in measured:
        gain = each.gain
        if each.stack == "official wheel" and gain is not None and gain.high * _WORTHWHILE <= 1:
            bounds = f"{1 / gain.high:.2f} to {1 / gain.low:.2f}"
            message = f"your build is already {1 / gain.ratio:.1f}x stock ({bounds}): {each.title}"
            yield report.SpeedAdvice(candidate=each.name, message=message)


def _leave_alone(reason: str, measured: Sequence[report.Candidate]) -> report.SpeedAdvice:
    best = max(measured, key=lambda each: each.ratio, default=None)
    evidence = ""
    if best is not None and best.gain is not None:
        evidence = f"the fastest of {len(measured)} candidates: {best.title}, {_describe_gain(best.gain)}"
    return report.SpeedAdvice(message=f"leave it alone: {reason}", evidence=evidence)


def _make_advice(candidate: report.Candidate, context: AdviceContext) -> report.SpeedAdvice:
    """Return the advice to use a candidate; the message leaves out the gain, which has a field of its own."""
    changes = list(_list_changes(candidate, context))
    texts, commands, codes = ([change[part] for change in changes] for part in range(3))
    return report.SpeedAdvice(
        candidate=candidate.name,
        gain=candidate.gain,
        message="; ".join((candidate.title, *_list_flaws(candidate, context.workload))),
        remedy="; then ".join(texts) or candidate.title,
        command=" && ".join(commands),
        code="\n".join(filter(None, codes)),
    )


def _list_flaws(candidate: report.Candidate, workload: report.Workload) -> tuple[str, ...]:
    """Return the reasons not to recommend a candidate, whatever its gain; empty if there are none."""
    flaws = [describe_picture_difference(candidate)]
    if candidate.left_out:
        flaws.append(f"{candidate.left_out} images cannot be loaded this way")
    need, place = _count_stored_bytes(candidate, workload), workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        flaws.append(f"needs {format_bytes(need)}, but only {format_bytes(place.free_bytes)} are free")
    if (candidate.stored_ratio or 0.0) > _MANY_TIMES:
        flaws.append(f"takes {candidate.stored_ratio:.1f} times the space: reading from disk becomes slower")
    return tuple(filter(None, flaws))


def _count_stored_bytes(candidate: report.Candidate, workload: report.Workload) -> int:
    """Return how many bytes a candidate's store would take for all files of the workload; 0 if it uses no store."""
    return round((candidate.stored_ratio or 0.0) * workload.files * workload.mean_bytes)


Change = tuple[str, str, str]
"""A change as three texts: words with its cost, a command to paste, and a line of code (may be empty)."""


def _list_changes(candidate: report.Candidate, context: AdviceContext) -> Iterator[Change]:
    """Yield, in order, the changes that a user has to make to load images as this candidate does."""
    place = context.environment
    if candidate.stack == "fastinstall" and place.kind is EnvironmentKind.SYSTEM:
        text = "set up the fastinstall build in a new environment: this one belongs to the operating system"
        yield text, "fastinstall setup --new-env ./fast-env", ""
    elif candidate.stack == "fastinstall":
        text = "set up the fastinstall build here; `fastinstall rollback` undoes it"
        yield text, f"fastinstall setup --prefix {quote(place.prefix)}", ""
    elif candidate.stack == "official wheel":
        yield "install the newest official Pillow", _format_pillow_command(context), ""
    store = all_ways().get(candidate.storage)
    is_other_adapter = candidate.adapter != context.baseline.adapter
    adapter = all_ways().get(candidate.adapter) if is_other_adapter and not store else None
    way = store or adapter
    if way is not None and way.brings and candidate.stack == "its own":
        text = f"install {' and '.join(way.brings)}, fetched only for this measurement"
        yield text, _format_install_command(context, *way.brings), ""
    if adapter is not None:
        text = "call `load(path)` from the printed loader.py in your loader"
        if adapter.batched:
            text = "use `batches(lists)` from the printed loader.py instead of your DataLoader"
        yield text, f"{_format_printing(adapter.name, context)} > loader.py", adapter.code
    if store is not None:
        yield _change_storage(store, candidate, context)
    if candidate.variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(candidate.variables.items()))
        cost = "it costs some memory: large blocks take complete huge pages"
        text = f"set it in the shell that starts training; {cost}"
        yield text, f"export {assigned}", f"{assigned} python train.py"


def _format_pillow_command(context: AdviceContext) -> str:
    if context.environment.kind is EnvironmentKind.CONDA:
        verb = "update" if context.pillow == "pillow" else "install"
        return f"conda {verb} --prefix {quote(context.environment.prefix)} {quote(context.pillow)}"
    return _format_install_command(context, "--upgrade", context.pillow)


def _format_install_command(context: AdviceContext, *words: str) -> str:
    python, named = quote(context.environment.python), " ".join(map(quote, words))
    return f"{python} -m pip install {named}" if context.has_pip else f"uv pip install --python {python} {named}"


def _format_printing(name: str, context: AdviceContext) -> str:
    """Return the command that prints a candidate's code, with a flag for each pipeline setting that is not default."""
    pipeline, usual, command = context.pipeline, report.ImagePipeline(), "fastinstall bench"
    for flag, field in (("--size", "shorter"), ("--crop", "crop"), ("--filter", "filter")):
        if getattr(pipeline, field) != getattr(usual, field):
            command += f" {flag} {getattr(pipeline, field)}"
    return f"{command} --print-code {quote(name)}"


def _change_storage(store: Way, candidate: report.Candidate, context: AdviceContext) -> Change:
    workload, where, size = context.workload, "DIR OUT", ""
    if not workload.generated:  # the store goes to the working directory, which may be on another disk
        prepared = f"./{workload.directory.name or 'images'}-{store.name}"
        where = f"{quote(workload.directory)} {quote(prepared)}"
    if candidate.stored_ratio is not None:
        whole = f"{format_bytes(_count_stored_bytes(candidate, workload))} for all {workload.files:,} files, "
        whole = "" if workload.generated else whole
        size = f"; it takes {whole}{candidate.stored_ratio:.1f} times the size of the files"
    command = f"{_format_printing(store.name, context)} > prepare.py"
    command += f" && {quote(context.environment.python)} prepare.py {where}"
    text = f"prepare the images once, and read the prepared ones; {store.caveat}{size}"
    folder = 'torchvision.datasets.ImageFolder("OUT", transform)'
    reader = 'images = prepare.Reader("OUT")  # images.read(index), images.name(index)'
    return text, command, folder if store.in_files else reader


def _advise_workers(baseline: report.Candidate) -> Iterator[report.SpeedAdvice]:
    """Yield the advice to use the fewest workers that nearly reach the best rate, if workers are worthwhile."""
    alone = find_best_rate(rate for rate in baseline.rates if not rate.workers)
    with_workers = [rate for rate in baseline.rates if rate.workers]
    best = find_best_rate(with_workers)
    if best is None:
        return
    good = (rate for rate in with_workers if rate.images_per_second >= best.images_per_second * _AS_GOOD)
    chosen = min(good, key=lambda rate: (rate.workers, -rate.images_per_second))
    ratio = chosen.images_per_second / (alone or baseline).images_per_second
    if ratio >= _WORTHWHILE:
        yield report.SpeedAdvice(
            gain=report.Gain(ratio=ratio, low=ratio, high=ratio, rounds=1),
            message=f"num_workers={chosen.workers}, compared with num_workers=0",
            remedy="give your DataLoader this number of workers; each takes the memory of another process",
            code=f"num_workers={chosen.workers}",
        )
