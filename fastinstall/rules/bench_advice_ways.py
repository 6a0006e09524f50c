"""How a candidate is put to use: what to do, the command, the line of code, and what it costs. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePath

from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.images import Pipeline, Workload
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import CandidateResult, Kind
from fastinstall.model.measured_machine import Machine
from fastinstall.rules import bench_advice_words as words
from fastinstall.rules.messages import quote


@immutable
class Surroundings:
    """What advice has to know beside what was measured.

    Attributes:
        pipeline: what was done to every image.
        codes: the line of code of a way of loading, by its name.
        requirements: what a way of loading needs installed, by its name.
        caveats: what has to be known before a store is chosen, by its name.
        finished: names of the stores that hold arrays, resized and cut once and for all.
        pillow: what an installer is asked for, so that it is the newest Pillow which dependants take ("pillow<13").
        has_pip: whether the environment has a pip of its own.
        has_gpu: whether training can use a GPU of NVIDIA's.
    """

    pipeline: Pipeline = Pipeline()
    codes: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caveats: Mapping[str, str] = field(default_factory=dict)
    finished: frozenset[str] = frozenset()
    pillow: str = "pillow"
    has_pip: bool = True
    has_gpu: bool = False


@immutable
class AdviceContext:
    """What advice rests on.

    Attributes:
        baseline: what the candidates are compared with.
        workload: the images.
        machine: where it was measured.
        environment: that the advice is for.
        surroundings: what else has to be known.
    """

    baseline: CandidateResult
    workload: Workload
    machine: Machine
    environment: Environment
    surroundings: Surroundings = Surroundings()


@immutable
class Way:
    """One thing to do.

    Attributes:
        text: in words, with what it costs.
        command: to be pasted.
        code: the line of code; empty where there is none.
    """

    text: str
    command: str
    code: str = ""


def ways_of(result: CandidateResult, context: AdviceContext) -> tuple[Way, ...]:
    """Everything that has to be done to load like this candidate, in that order."""
    return (*_stack(result, context), *_decoder(result, context), *_store(result, context), *_variables(result))


def disk_need(result: CandidateResult, context: AdviceContext) -> float:
    """Bytes that a store takes for every file that was found; 0 for files."""
    return (result.stored_ratio or 0.0) * context.workload.files * context.workload.mean_bytes


def _stack(result: CandidateResult, context: AdviceContext) -> Iterator[Way]:
    stack, place = result.candidate.stack, context.environment
    if stack == "fastinstall" and place.kind is EnvironmentKind.SYSTEM:
        text = "set up the fastinstall build in an environment of its own: this one is the operating system's"
        yield Way(text=text, command="fastinstall setup --new-env ./fast-env")
    elif stack == "fastinstall":
        text = "set up the fastinstall build here; `fastinstall rollback` takes it out again"
        yield Way(text=text, command=f"fastinstall setup --prefix {quote(place.prefix)}")
    elif stack == "official wheel":
        yield Way(text="install the newest official Pillow", command=_newest_pillow(context))


def _newest_pillow(context: AdviceContext) -> str:
    wanted = context.surroundings.pillow
    if context.environment.kind is EnvironmentKind.CONDA:
        verb = "update" if wanted == "pillow" else "install"
        return f"conda {verb} --prefix {quote(context.environment.prefix)} {quote(wanted)}"
    return _installed(context, "--upgrade", wanted)


def _installed(context: AdviceContext, *words: str) -> str:
    python, named = quote(context.environment.python), " ".join(map(quote, words))
    if context.surroundings.has_pip:
        return f"{python} -m pip install {named}"
    return f"uv pip install --python {python} {named}"


def _decoder(result: CandidateResult, context: AdviceContext) -> Iterator[Way]:
    name = result.candidate.adapter
    if name == context.baseline.candidate.adapter or result.candidate.kind is Kind.STORAGE:
        return
    yield from _requirements(result, name, context)
    printed = f"fastinstall bench{_options(context.surroundings.pipeline)} --print-code {quote(name)} > loader.py"
    text = "call `load(path)` of the printed loader.py in your own loader"
    yield Way(text=text, command=printed, code=context.surroundings.codes.get(name, ""))


def _requirements(result: CandidateResult, name: str, context: AdviceContext) -> Iterator[Way]:
    needed = context.surroundings.requirements.get(name, ())
    if result.candidate.stack == "its own" and needed:
        text = f"install {' and '.join(needed)}, which was fetched for this measurement only"
        yield Way(text=text, command=_installed(context, *needed))


def _options(pipeline: Pipeline) -> str:
    """The flags that tell what is done to every image, where that is not what is done by default."""
    usual = Pipeline()
    named = (("--size", pipeline.shorter, usual.shorter), ("--crop", pipeline.crop, usual.crop))
    flags = [f" {flag} {value}" for flag, value, default in named if value != default]
    return "".join((*flags, f" --filter {pipeline.filter}" if pipeline.filter != usual.filter else ""))


def _store(result: CandidateResult, context: AdviceContext) -> Iterator[Way]:
    name, pipeline = result.candidate.storage, context.surroundings.pipeline
    if name == "files":
        return
    yield from _requirements(result, name, context)
    printed = f"fastinstall bench{_options(pipeline)} --print-code {quote(name)} > prepare.py"
    directory, python = context.workload.directory, quote(context.environment.python)
    where = "DIR OUT" if context.workload.generated else f"{quote(directory)} {quote(_beside(directory, name))}"
    caveat = context.surroundings.caveats.get(name, "keep the originals")
    text = f"prepare the images once and read what was prepared; {caveat}{_space(result, context)}"
    code = context.surroundings.codes.get(name, "")
    yield Way(text=text, command=f"{printed} && {python} prepare.py {where}", code=code)


def _space(result: CandidateResult, context: AdviceContext) -> str:
    if result.stored_ratio is None:
        return ""
    of_files = f"{result.stored_ratio:.1f} times what the files take"
    if context.workload.generated:
        return f"; it takes {of_files}"
    return f"; it takes {words.size(disk_need(result, context))} for all {context.workload.files:,} files, {of_files}"


def _beside(directory: PurePath, name: str) -> str:
    """Where the prepared images go: below the working directory, so that it may be another disk."""
    return f"./{directory.name or 'images'}-{name}"


def _variables(result: CandidateResult) -> Iterator[Way]:
    variables = result.candidate.variables
    if variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(variables.items()))
        text = f"set it in the shell that starts the training{_cost(variables)}"
        yield Way(text=text, command=f"export {assigned}", code=f"{assigned} python train.py")


def _cost(variables: Mapping[str, str]) -> str:
    if any("hugetlb" in value for value in variables.values()):
        return "; large blocks are rounded up to whole huge pages, so it costs some memory"
    if any("THRESHOLD" in name for name in variables):
        return "; memory that was used once stays with the process"
    return ""
