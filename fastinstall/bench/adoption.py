"""How a candidate is put to use: what to do, the command or line of code, and what it costs. Pure.

The module also words verdicts and advice on loading images: rates, shares, gains, and how far a picture is from
another.

A candidate can become code for the user's own project: a module with `load(path)`, or a script that makes a store,
`python prepare.py IMAGES OUT`. That script is the code of `_stores/` by which the measured store was made, with what it
imports from its neighbours put in front of it.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.bench.catalogue import Adapter, StoreKind, all_adapters, all_kinds, kind_named
from fastinstall.bench.report import (
    Candidate,
    CandidateKind,
    CandidateResult,
    Gain,
    ImagePipeline,
    LoadingRate,
    Workload,
)
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import FindingFactory
from fastinstall.model.history import format_bytes
from fastinstall.model.machine import LoaderLimits
from fastinstall.model.request import Environment, EnvironmentKind


@immutable
class AdviceContext:
    """What advice rests on.

    Attributes:
        baseline: what the candidates are compared with.
        workload: the images.
        machine: where it was measured.
        environment: that the advice is for.
        pipeline: what was done to every image.
        pillow: what an installer is asked for, so that it is the newest Pillow which dependants take ("pillow<13").
        has_pip: whether the environment has a pip of its own.
        busy: that other programs were running, in words; empty if none were in the way.
    """

    baseline: CandidateResult
    workload: Workload
    machine: LoaderLimits
    environment: Environment
    pipeline: ImagePipeline = ImagePipeline()
    pillow: str = "pillow"
    has_pip: bool = True
    busy: str = ""


@immutable
class AdviceOption:
    """One thing to do.

    Attributes:
        text: in words, with what it costs.
        command: to be pasted.
        code: the line of code; empty if there is none.
    """

    text: str
    command: str
    code: str = ""


def ways_of(result: CandidateResult, context: AdviceContext) -> tuple[AdviceOption, ...]:
    """Everything that has to be done to load like this candidate, in that order."""
    return (
        *_explain_stack(result, context),
        *_explain_decoder(result, context),
        *_explain_store(result, context),
        *_explain_variables(result),
    )


def rank_simplicity(candidate: Candidate) -> int:
    """How much has to be changed for a candidate, the simplest first; the guide on bench lists the same order.

    A line of Pillow code; a variable; another build of Pillow; a library that is installed; one that has to be
    installed; a pipeline of batches in place of a DataLoader; images that are prepared; several things together.
    """
    adapter = _find_adapter(candidate.adapter)
    if candidate.kind is CandidateKind.DECODER and adapter is not None and adapter.batched:
        return 5
    if candidate.kind is CandidateKind.DECODER:
        return 0 if candidate.adapter.startswith("pillow") else 3 + (candidate.stack == "its own")
    return {CandidateKind.SETTING: 1, CandidateKind.STACK: 2, CandidateKind.STORAGE: 6}.get(candidate.kind, 7)


def disk_need(result: CandidateResult, context: AdviceContext) -> float:
    """Bytes that a store takes for every file that was found; 0 for files."""
    return (result.stored_ratio or 0.0) * context.workload.files * context.workload.mean_bytes


def _explain_stack(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    stack, place = result.candidate.stack, context.environment
    if stack == "fastinstall" and place.kind is EnvironmentKind.SYSTEM:
        text = "set up the fastinstall build in an environment of its own: this one is the operating system's"
        yield AdviceOption(text=text, command="fastinstall setup --new-env ./fast-env")
    elif stack == "fastinstall":
        text = "set up the fastinstall build here; `fastinstall rollback` takes it out again"
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
    text = "call `load(path)` of the printed loader.py in your own loader"
    if adapter is not None and adapter.batched:
        text = "use `batches(lists)` of the printed loader.py in place of your DataLoader"
    code = adapter.code if adapter else ""
    yield AdviceOption(text=text, command=f"{_format_printing(name, context)} > loader.py", code=code)


def _find_adapter(name: str) -> Adapter | None:
    return next((each for each in all_adapters() if each.name == name), None)


def _explain_requirements(
    result: CandidateResult, needing: Adapter | StoreKind | None, context: AdviceContext
) -> Iterator[AdviceOption]:
    if needing is not None and needing.brings and result.candidate.stack == "its own":
        text = f"install {' and '.join(needing.brings)}, which was fetched for this measurement only"
        yield AdviceOption(text=text, command=_format_install_command(context, *needing.brings))


def _format_printing(name: str, context: AdviceContext) -> str:
    """The command that prints the code of a candidate, with what is done to every image where that is not the usual."""
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
    if not workload.generated:  # below the working directory, so that it may be another disk
        prepared = f"./{workload.directory.name or 'images'}-{name}"
        where = f"{quote(workload.directory)} {quote(prepared)}"
    command = (
        f"{_format_printing(name, context)} > prepare.py && {quote(context.environment.python)} prepare.py {where}"
    )
    text = f"prepare the images once and read what was prepared; {kind.caveat}{_describe_space(result, context)}"
    yield AdviceOption(text=text, command=command, code=kind.code)


def _describe_space(result: CandidateResult, context: AdviceContext) -> str:
    if result.stored_ratio is None:
        return ""
    of_files = f"{result.stored_ratio:.1f} times what the files take"
    if context.workload.generated:
        return f"; it takes {of_files}"
    return f"; it takes {size(disk_need(result, context))} for all {context.workload.files:,} files, {of_files}"


def _explain_variables(result: CandidateResult) -> Iterator[AdviceOption]:
    variables = result.candidate.variables
    if variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(variables.items()))
        text = f"set it in the shell that starts the training{_describe_memory_cost(variables)}"
        yield AdviceOption(text=text, command=f"export {assigned}", code=f"{assigned} python train.py")


def _describe_memory_cost(variables: Mapping[str, str]) -> str:
    if any("hugetlb" in value for value in variables.values()):
        return "; large blocks are rounded up to whole huge pages, so it costs some memory"
    if any("THRESHOLD" in name for name in variables):
        return "; memory that was used once stays with the process"
    return ""


WORTHWHILE = 1.05
"""The least gain that is worth any trouble."""

SAY = FindingFactory("data-loading")
"""Makes the findings of advice."""

_PRECISE = 100
"""Below it a rate has a decimal."""


def rate(images_per_second: float) -> str:
    """Images per second, with no more digits than mean something."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def describe_worker_rate(measured: LoadingRate) -> str:
    """Who loads how much: "2 workers load 890 images/s"."""
    number = f"{rate(measured.images_per_second)} images/s"
    if not measured.workers:
        return f"one process loads {number}"
    return f"{measured.workers} worker{'s load' if measured.workers > 1 else ' loads'} {number}"


def times(gain: Gain) -> str:
    """How many times as fast, and within which bounds: "1.82 times as fast (1.75 to 1.90 in 5 rounds)"."""
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def describe_picture_difference(result: CandidateResult) -> str:
    """What makes its pictures others than the baseline's; empty if they are as good as the same."""
    difference = result.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if result.candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > LIKE else ""


LIKE = 1.0
"""Mean difference of a channel, in levels of 0 to 255, up to which two pictures count as the same."""


def size(count: float) -> str:
    """Bytes: "4.9 GB"."""
    return format_bytes(round(count))


def render_code(name: str, pipeline: ImagePipeline) -> str:
    """The text of a Python module.

    Of an adapter it has a function `load(path)`, as `bench --loader FILE` takes it; of a store it is a script that is
    run as `python FILE IMAGES OUT`.

    Args:
        name: of an adapter or a store.
        pipeline: what is done to every image; it stands in the module as assignments.

    Raises:
        UsageError: no candidate of that name is code.
    """
    adapters = {each.name: each for each in all_adapters()}
    stores = {each.name: each for each in all_kinds()}
    if name in adapters:
        return _write_loader(adapters[name], pipeline)
    if name in stores:
        return _write_script(stores[name], pipeline)
    raise UsageError(f"no candidate called {name!r} is code", hint=f"there are: {', '.join((*adapters, *stores))}")


def _write_loader(adapter: Adapter, pipeline: ImagePipeline) -> str:
    pillow = ("pillow",) if "PIL" in adapter.modules else ()
    requirements = " ".join(map(quote, dict.fromkeys((*adapter.brings, *pillow, "numpy"))))
    return f'''"""{adapter.title}: load(path) gives the picture in RGB, resized and cut.

It needs: python -m pip install {requirements}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the square that is cut out of the middle, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{adapter.loader.strip()}
'''


_ABOUT = (
    *("NAME", "TITLE", "CAVEAT", "MODULES", "BRINGS", "IN_FILES", "SETTINGS", "PRIORITY"),
    "most_bytes",
)
"""What a file says of itself to us, and to nobody else."""


def _write_script(kind: StoreKind, pipeline: ImagePipeline) -> str:
    """A script that makes a store of a whole directory of images.

    It goes on where it was interrupted and overwrites nothing; as a module it has `Reader`. What it takes of
    the pipeline stands in it as `WANTED`.
    """
    parts = [_Part(each) for each in _list_files(kind.file)]
    wanted = json.dumps({"kind": kind.name, **{setting: getattr(pipeline, setting) for setting in kind.settings}})
    start = f'"""{parts[-1].docstring}"""\n\n{_merge_imports(parts)}\n\nWANTED = {wanted}'
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    return "\n\n\n".join((start, *(part.body for part in parts), ending))


class _Part:
    """A file, taken apart."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.imports = [each for each in imports if not getattr(each, "level", 0)]
        self.body = _remove_statements(text, [*tree.body[:1], *imports, *_find_metadata(tree)])


def _merge_imports(parts: list[_Part]) -> str:
    """List the names of all parts, each once."""
    whole: set[str] = set()
    named: dict[str, set[str]] = {}
    for each in (line for part in parts for line in part.imports):
        if isinstance(each, ast.ImportFrom):
            named.setdefault(each.module or "", set()).update(name.name for name in each.names)
        else:
            whole.update(name.name for name in each.names)
    froms = (f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(named.items()))
    return "\n".join((*(f"import {each}" for each in sorted(whole)), *froms))


def _list_files(file: Path) -> list[Path]:
    """A file after all that it imports from beside it."""
    found: list[Path] = []
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ImportFrom) and each.level:
            found.extend(path for path in _list_files(file.with_name(f"{each.module}.py")) if path not in found)
    return [*found, file]


def _find_metadata(tree: ast.Module) -> Iterator[ast.stmt]:
    for each in tree.body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id in _ABOUT:
            yield each
        if isinstance(each, ast.FunctionDef) and each.name in _ABOUT:
            yield each


def _remove_statements(text: str, statements: list[ast.stmt]) -> str:
    lines = text.splitlines()
    gone = {number for each in statements for number in range(each.lineno - 1, each.end_lineno or each.lineno)}
    kept = (line.partition("  # noqa")[0] for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(kept)).strip()
