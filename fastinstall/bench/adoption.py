"""Say how to adopt a candidate: what to do, the command or line of code, and what it costs. Pure."""

from collections.abc import Iterator

from fastinstall.bench.catalogue import Adapter, Description, all_adapters, kind_named
from fastinstall.bench.report import Candidate, CandidateKind, CandidateResult, ImagePipeline, Workload
from fastinstall.bench.wording import format_size
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.model.machine import LoaderLimits


@immutable
class AdviceContext:
    """The facts behind advice.

    Attributes:
        baseline: what the candidates are compared with.
        workload: the images that were measured, and where they lie.
        machine: the limits of loaders on the measured machine.
        environment: the one to advise on.
        pipeline: what was done to every image.
        pillow: the requirement for the newest Pillow that dependants allow ("pillow<13").
        has_pip: whether the environment has its own pip.
    """

    baseline: CandidateResult
    workload: Workload
    machine: LoaderLimits
    environment: Environment
    pipeline: ImagePipeline = ImagePipeline()
    pillow: str = "pillow"
    has_pip: bool = True


@immutable
class AdviceOption:
    """One thing to do.

    Attributes:
        text: in words, with its cost.
        command: a command to paste, or empty if none adopts it.
        code: the line of code; empty if there is none.
    """

    text: str
    command: str
    code: str = ""


def ways_of(result: CandidateResult, context: AdviceContext) -> tuple[AdviceOption, ...]:
    """Return everything needed to load like this candidate, in order."""
    return (
        *_explain_stack(result, context),
        *_explain_decoder(result, context),
        *_explain_store(result, context),
        *_explain_variables(result),
    )


def rank_simplicity(candidate: Candidate) -> int:
    """Return how much a candidate changes, the simplest first; the guide on bench lists the same order.

    A line of Pillow code; a variable; another build of Pillow; an installed library; one to install; a pipeline of
    batches instead of a DataLoader; prepared images.
    """
    adapter = _find_adapter(candidate.adapter)
    if candidate.kind is CandidateKind.DECODER and adapter is not None and adapter.batched:
        return 5
    if candidate.kind is CandidateKind.DECODER:
        return 0 if candidate.adapter.startswith("pillow") else 3 + (candidate.stack == "its own")
    return {CandidateKind.SETTING: 1, CandidateKind.STACK: 2}.get(candidate.kind, 6)


def disk_need(result: CandidateResult, context: AdviceContext) -> float:
    """Return the bytes that a store takes for all found files; 0 for files."""
    return (result.stored_ratio or 0.0) * context.workload.files * context.workload.mean_bytes


def _explain_stack(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    stack, place = result.candidate.stack, context.environment
    if stack == "fastinstall" and place.kind is EnvironmentKind.SYSTEM:
        text = "set up the fastinstall build in a new environment: this one belongs to the operating system"
        yield AdviceOption(text=text, command="fastinstall setup --new-env ./fast-env")
    elif stack == "fastinstall":
        text = "set up the fastinstall build here; `fastinstall rollback` undoes it"
        yield AdviceOption(text=text, command=f"fastinstall setup --prefix {quote(place.prefix)}")
    elif stack == "official wheel":
        yield AdviceOption(text="install the newest official Pillow", command=_format_pillow_command(context))


def _format_pillow_command(context: AdviceContext) -> str:
    if context.environment.kind is EnvironmentKind.CONDA:
        verb = "update" if context.pillow == "pillow" else "install"
        return f"conda {verb} --prefix {quote(context.environment.prefix)} {quote(context.pillow)}"
    return _format_install_command(context, "--upgrade", context.pillow)


def _format_install_command(context: AdviceContext, *words: str) -> str:
    python, named = quote(context.environment.python), " ".join(map(quote, words))
    return f"{python} -m pip install {named}" if context.has_pip else f"uv pip install --python {python} {named}"


def _explain_decoder(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    name = result.candidate.adapter
    if name == context.baseline.candidate.adapter or result.candidate.kind is CandidateKind.STORAGE:
        return
    adapter = _find_adapter(name)
    yield from _explain_requirements(result, adapter, context)
    text = "call `load(path)` from the printed loader.py in your loader"
    if adapter is not None and adapter.batched:
        text = "use `batches(lists)` from the printed loader.py instead of your DataLoader"
    code = adapter.code if adapter else ""
    yield AdviceOption(text=text, command=f"{_format_printing(name, context)} > loader.py", code=code)


def _find_adapter(name: str) -> Adapter | None:
    return next((each for each in all_adapters() if each.name == name), None)


def _explain_requirements(
    result: CandidateResult, needing: Description | None, context: AdviceContext
) -> Iterator[AdviceOption]:
    if needing is not None and needing.brings and result.candidate.stack == "its own":
        text = f"install {' and '.join(needing.brings)}, fetched only for this measurement"
        yield AdviceOption(text=text, command=_format_install_command(context, *needing.brings))


def _format_printing(name: str, context: AdviceContext) -> str:
    """Return the command that prints a candidate's code, with flags for an unusual pipeline."""
    pipeline, usual = context.pipeline, ImagePipeline()
    flags = (
        ("--size", pipeline.shorter, usual.shorter),
        ("--crop", pipeline.crop, usual.crop),
        ("--filter", pipeline.filter, usual.filter),
    )
    changed = "".join(f" {flag} {value}" for flag, value, default in flags if value != default)
    return f"fastinstall bench{changed} --print-code {quote(name)}"


def _explain_store(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    name, workload = result.candidate.storage, context.workload
    if name == "files":
        return
    kind = kind_named(name)
    yield from _explain_requirements(result, kind, context)
    where = "DIR OUT"
    if not workload.generated:  # below the working directory, which may be another disk
        prepared = f"./{workload.directory.name or 'images'}-{name}"
        where = f"{quote(workload.directory)} {quote(prepared)}"
    command = (
        f"{_format_printing(name, context)} > prepare.py && {quote(context.environment.python)} prepare.py {where}"
    )
    text = f"prepare the images once, and read the prepared ones; {kind.caveat}{_describe_space(result, context)}"
    yield AdviceOption(text=text, command=command, code=kind.code)


def _describe_space(result: CandidateResult, context: AdviceContext) -> str:
    if result.stored_ratio is None:
        return ""
    of_files = f"{result.stored_ratio:.1f} times the size of the files"
    if context.workload.generated:
        return f"; it takes {of_files}"
    return f"; it takes {format_size(disk_need(result, context))} for all {context.workload.files:,} files, {of_files}"


def _explain_variables(result: CandidateResult) -> Iterator[AdviceOption]:
    if result.candidate.variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(result.candidate.variables.items()))
        cost = "it costs some memory: large blocks take complete huge pages"
        text = f"set it in the shell that starts training; {cost}"
        yield AdviceOption(text=text, command=f"export {assigned}", code=f"{assigned} python train.py")
