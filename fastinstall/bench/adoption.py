"""How to adopt a candidate: what to do, the command or line of code, and what it costs. Pure.

The module also words verdicts and advice on loading images: rates, shares, gains, and differences between pictures.

A candidate can become code for the user's own project: a module with `load(path)`, or a script that makes a store,
`python prepare.py IMAGES OUT`. That script is the code of `_stores/` that made the measured store, with its
neighbours' code included.
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
from fastinstall.core.messages import format_bytes, quote
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import FindingFactory
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.machine import LoaderLimits


@immutable
class AdviceContext:
    """The facts behind advice.

    Attributes:
        baseline: what the candidates are compared with.
        workload: the images.
        machine: the measured one.
        environment: the one to advise on.
        pipeline: what was done to every image.
        pillow: the requirement for the newest Pillow that dependants allow ("pillow<13").
        has_pip: whether the environment has its own pip.
        busy: which other programs were running, in words; empty if none interfered.
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
        text: in words, with its cost.
        command: to paste.
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
    batches instead of a DataLoader; prepared images; several together.
    """
    adapter = _find_adapter(candidate.adapter)
    if candidate.kind is CandidateKind.DECODER and adapter is not None and adapter.batched:
        return 5
    if candidate.kind is CandidateKind.DECODER:
        return 0 if candidate.adapter.startswith("pillow") else 3 + (candidate.stack == "its own")
    return {CandidateKind.SETTING: 1, CandidateKind.STACK: 2, CandidateKind.STORAGE: 6}.get(candidate.kind, 7)


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
    result: CandidateResult, needing: Adapter | StoreKind | None, context: AdviceContext
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
    return f"; it takes {size(disk_need(result, context))} for all {context.workload.files:,} files, {of_files}"


def _explain_variables(result: CandidateResult) -> Iterator[AdviceOption]:
    variables = result.candidate.variables
    if variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(variables.items()))
        text = f"set it in the shell that starts training{_describe_memory_cost(variables)}"
        yield AdviceOption(text=text, command=f"export {assigned}", code=f"{assigned} python train.py")


def _describe_memory_cost(variables: Mapping[str, str]) -> str:
    if any("hugetlb" in value for value in variables.values()):
        return "; it costs some memory: large blocks take complete huge pages"
    if any("THRESHOLD" in name for name in variables):
        return "; the process keeps the memory that it has used"
    return ""


WORTHWHILE = 1.05
"""The smallest worthwhile gain."""

SAY = FindingFactory("data-loading")
"""Creates the findings of advice."""

_PRECISE = 100
"""Below this, a rate has a decimal."""


def rate(images_per_second: float) -> str:
    """Return images per second, with significant digits only."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def describe_worker_rate(measured: LoadingRate) -> str:
    """Return who loads how much: "2 workers load 890 images/s"."""
    number = f"{rate(measured.images_per_second)} images/s"
    if not measured.workers:
        return f"one process loads {number}"
    return f"{measured.workers} worker{'s load' if measured.workers > 1 else ' loads'} {number}"


def times(gain: Gain) -> str:
    """Return a gain with its bounds: "1.82 times as fast (1.75 to 1.90 in 5 rounds)"."""
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def describe_picture_difference(result: CandidateResult) -> str:
    """Return how its pictures differ from the baseline's; empty if they are practically the same."""
    difference = result.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if result.candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > LIKE else ""


LIKE = 1.0
"""Two pictures count as the same up to this mean difference of a channel, in levels of 0 to 255."""


def size(count: float) -> str:
    """Return bytes for people: "4.9 GB"."""
    return format_bytes(round(count))


def render_code(name: str, pipeline: ImagePipeline) -> str:
    """Return the text of a Python module.

    For an adapter it has a function `load(path)`, as `bench --loader FILE` accepts it; for a store it is a script run
    as `python FILE IMAGES OUT`.

    Args:
        name: of an adapter or a store.
        pipeline: what is done to every image; assigned to names in the module.

    Raises:
        UsageError: no candidate of that name has code.
    """
    adapters = {each.name: each for each in all_adapters()}
    stores = {each.name: each for each in all_kinds()}
    if name in adapters:
        return _write_loader(adapters[name], pipeline)
    if name in stores:
        return _write_script(stores[name], pipeline)
    raise UsageError(f"no candidate named {name!r} has code", hint=f"choose from: {', '.join((*adapters, *stores))}")


def _write_loader(adapter: Adapter, pipeline: ImagePipeline) -> str:
    pillow = ("pillow",) if "PIL" in adapter.modules else ()
    requirements = " ".join(map(quote, dict.fromkeys((*adapter.brings, *pillow, "numpy"))))
    return f'''"""{adapter.title}: load(path) returns the picture in RGB, resized and cropped.

It needs: python -m pip install {requirements}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the centre crop, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{adapter.loader.strip()}
'''


_ABOUT = (
    *("NAME", "TITLE", "CAVEAT", "MODULES", "BRINGS", "IN_FILES", "SETTINGS", "PRIORITY"),
    "most_bytes",
)
"""Text that a file says only to us."""


def _write_script(kind: StoreKind, pipeline: ImagePipeline) -> str:
    """Return a script that makes a store of a directory of images.

    It continues after an interruption and overwrites nothing; as a module it has `Reader`. Its part of the pipeline is
    assigned to `WANTED`.
    """
    parts = [_Part(each) for each in _list_files(kind.file)]
    wanted = json.dumps({"kind": kind.name, **{setting: getattr(pipeline, setting) for setting in kind.settings}})
    start = f'"""{parts[-1].docstring}"""\n\n{_merge_imports(parts)}\n\nWANTED = {wanted}'
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    return "\n\n\n".join((start, *(part.body for part in parts), ending))


class _Part:
    """A parsed file."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.imports = [each for each in imports if not getattr(each, "level", 0)]
        self.body = _remove_statements(text, [*tree.body[:1], *imports, *_find_metadata(tree)])


def _merge_imports(parts: list[_Part]) -> str:
    """Merge the imports of all parts, each name once."""
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
    """Return a file after everything that it imports from its directory."""
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
