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
from dataclasses import field
from pathlib import Path, PurePath

from fastinstall.bench.catalogue import Adapter, StoreKind, all_adapters, all_kinds, kind_named
from fastinstall.bench.report import CandidateKind, CandidateResult, Gain, ImagePipeline, LoadingRate, Workload
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import FindingFactory
from fastinstall.model.history import format_bytes
from fastinstall.model.machine import LoaderLimits
from fastinstall.model.request import Environment, EnvironmentKind


@immutable
class AdviceSurroundings:
    """What advice has to know beside what was measured.

    Attributes:
        pipeline: what was done to every image.
        codes: the line of code of a way of loading, by its name.
        requirements: what a way of loading needs installed, by its name.
        caveats: what has to be known before a store is chosen, by its name.
        pillow: what an installer is asked for, so that it is the newest Pillow which dependants take ("pillow<13").
        has_pip: whether the environment has a pip of its own.
        has_gpu: whether training can use a GPU of NVIDIA's.
    """

    pipeline: ImagePipeline = ImagePipeline()
    codes: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caveats: Mapping[str, str] = field(default_factory=dict)
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
    machine: LoaderLimits
    environment: Environment
    surroundings: AdviceSurroundings = AdviceSurroundings()


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
        *_store(result, context),
        *_explain_variables(result),
    )


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
    wanted = context.surroundings.pillow
    if context.environment.kind is EnvironmentKind.CONDA:
        verb = "update" if wanted == "pillow" else "install"
        return f"conda {verb} --prefix {quote(context.environment.prefix)} {quote(wanted)}"
    return _format_install_command(context, "--upgrade", wanted)


def _format_install_command(context: AdviceContext, *words: str) -> str:
    python, named = quote(context.environment.python), " ".join(map(quote, words))
    if context.surroundings.has_pip:
        return f"{python} -m pip install {named}"
    return f"uv pip install --python {python} {named}"


def _explain_decoder(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    name = result.candidate.adapter
    if name == context.baseline.candidate.adapter or result.candidate.kind is CandidateKind.STORAGE:
        return
    yield from _explain_requirements(result, name, context)
    printed = (
        f"fastinstall bench{_format_options(context.surroundings.pipeline)} --print-code {quote(name)} > loader.py"
    )
    text = "call `load(path)` of the printed loader.py in your own loader"
    yield AdviceOption(text=text, command=printed, code=context.surroundings.codes.get(name, ""))


def _explain_requirements(result: CandidateResult, name: str, context: AdviceContext) -> Iterator[AdviceOption]:
    needed = context.surroundings.requirements.get(name, ())
    if result.candidate.stack == "its own" and needed:
        text = f"install {' and '.join(needed)}, which was fetched for this measurement only"
        yield AdviceOption(text=text, command=_format_install_command(context, *needed))


def _format_options(pipeline: ImagePipeline) -> str:
    """The flags that tell what is done to every image, where that is not what is done by default."""
    usual = ImagePipeline()
    named = (("--size", pipeline.shorter, usual.shorter), ("--crop", pipeline.crop, usual.crop))
    flags = [f" {flag} {value}" for flag, value, default in named if value != default]
    return "".join((*flags, f" --filter {pipeline.filter}" if pipeline.filter != usual.filter else ""))


def _store(result: CandidateResult, context: AdviceContext) -> Iterator[AdviceOption]:
    name, pipeline = result.candidate.storage, context.surroundings.pipeline
    if name == "files":
        return
    yield from _explain_requirements(result, name, context)
    printed = f"fastinstall bench{_format_options(pipeline)} --print-code {quote(name)} > prepare.py"
    directory, python = context.workload.directory, quote(context.environment.python)
    where = (
        "DIR OUT"
        if context.workload.generated
        else f"{quote(directory)} {quote(_name_prepared_directory(directory, name))}"
    )
    caveat = context.surroundings.caveats.get(name, "keep the originals")
    text = f"prepare the images once and read what was prepared; {caveat}{_describe_space(result, context)}"
    code = context.surroundings.codes.get(name, "")
    yield AdviceOption(text=text, command=f"{printed} && {python} prepare.py {where}", code=code)


def _describe_space(result: CandidateResult, context: AdviceContext) -> str:
    if result.stored_ratio is None:
        return ""
    of_files = f"{result.stored_ratio:.1f} times what the files take"
    if context.workload.generated:
        return f"; it takes {of_files}"
    return f"; it takes {size(disk_need(result, context))} for all {context.workload.files:,} files, {of_files}"


def _name_prepared_directory(directory: PurePath, name: str) -> str:
    """Where the prepared images go: below the working directory, so that it may be another disk."""
    return f"./{directory.name or 'images'}-{name}"


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


def percent(part: float) -> str:
    """A share: "71%"."""
    return f"{part:.0%}"


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
    adapter = next((each for each in all_adapters() if each.name == name), None)
    if adapter is not None:
        return _write_loader(adapter, pipeline)

    stores = [each.name for each in all_kinds()]
    if name in stores:
        return render_script(name, pipeline)
    known = ", ".join((*(each.name for each in all_adapters()), *stores))
    raise UsageError(f"no candidate called {name!r} is code", hint=f"there are: {known}")


def _write_loader(adapter: Adapter, pipeline: ImagePipeline) -> str:
    return f'''"""{adapter.title}: load(path) gives the picture in RGB, resized and cut.

It needs: python -m pip install {" ".join(_list_requirements(adapter))}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the square that is cut out of the middle, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{adapter.loader.strip()}
'''


def _list_requirements(adapter: Adapter) -> tuple[str, ...]:
    """Requirements of the code, for a shell."""
    pillow = ("pillow",) if "PIL" in adapter.modules else ()
    return tuple(quote(each) for each in dict.fromkeys((*adapter.brings, *pillow, "numpy")))


_ABOUT = (
    *("NAME", "TITLE", "CAVEAT", "MODULES", "BRINGS", "IN_FILES", "SETTINGS", "PRIORITY"),
    "most_bytes",
)
"""What a file says of itself to us, and to nobody else."""


def render_script(name: str, pipeline: ImagePipeline) -> str:
    """The text of a script that makes a store of a whole directory of images.

    It goes on where it was interrupted and overwrites nothing; as a module it has `Reader`.

    Args:
        name: of the store.
        pipeline: what is done to every image; what of it matters stands in the script as `WANTED`.

    Raises:
        UsageError: there is no such store.
    """
    kind = kind_named(name)
    parts = [_Part(each) for each in _list_files(kind.file)]
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    wanted = f"WANTED = {json.dumps(_make_job_request(kind, pipeline))}"
    docstring = f'"""{parts[-1].docstring}"""'
    start = f"{docstring}\n\n{_merge_imports(parts)}\n\n{wanted}"
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


def _make_job_request(kind: StoreKind, pipeline: ImagePipeline) -> dict[str, object]:
    return {"kind": kind.name, **{name: getattr(pipeline, name) for name in kind.settings}}
