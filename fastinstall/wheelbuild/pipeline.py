"""Run the stages of a build in order, from an sdist to a labelled wheel in the cache.

The first stages prepare the inputs: headers, a search of the cache, static libraries, the source with kernels and
tuning, base wheel, requirements. Then each level is compiled, and the wheel is assembled and stored in the cache. Other
modules implement the stages.

`find_ready` finds a cached wheel for a plan before any compiler is known. All inputs that the plan names must be the
same: sources by hash, levels with their flags, libraries, and the minor version of Python (a wheel for cp311 suits
every Python 3.11). Compiler and headers may differ. That is safe for wheels whose core is placed in an official wheel
and uses its libraries. Wheels whose core uses libraries of the machine, or was built for exactly its CPU, are not
found.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import codec, files, temporary_directories
from fastinstall.core.concurrency import run_together
from fastinstall.core.events import Noted, ignore
from fastinstall.core.process import ProcessGroup
from fastinstall.elf.libraries import JPEG, identify
from fastinstall.index.selection import list_supported_tags, parse_filename
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild import wheel_cache
from fastinstall.wheelbuild.assemble import assemble
from fastinstall.wheelbuild.base_wheel import BaseWheel, open_base_wheel, plan_core_placements
from fastinstall.wheelbuild.build_inputs import (
    BuildRequest,
    BuildResult,
    list_enabled_libraries,
    plain_directory,
    plain_path,
)
from fastinstall.wheelbuild.compile import BuildContext, compile_levels, remove_stray_variables
from fastinstall.wheelbuild.headers import Headers, matching_headers, probe_headers
from fastinstall.wheelbuild.linking import find_linked_libraries, library_flags
from fastinstall.wheelbuild.prepare import (
    NOT_COMPILED,
    extract_source,
    find_memory_source,
    list_kernel_sources,
    prepare_source,
)
from fastinstall.wheelbuild.provenance import PIPELINE_VERSION
from fastinstall.wheelbuild.requirements import describe_given_wheels, fetch_requirements, install_requirements
from fastinstall.wheelbuild.static_libraries import StaticLibrary, build_static, make_static_key


def prepare_build(
    request: BuildRequest, headers: Headers, *, space: Path, plain: Path, key: str, log: Path
) -> BuildContext:
    """Prepare all inputs of the compilations.

    Args:
        space: the build's own temporary directory.
        plain: a temporary directory whose path needs no quoting, for symbolic links to headers and libraries.
        key: the key of the wheel in the cache.
        log: the file for the output of the compilation.

    Raises:
        FailedError: an input is missing, damaged, or could not be built.
    """
    tree = extract_source(request.source, space / "source", but=NOT_COMPILED)
    installed = space / "requirements"
    kernels = prepare_source(request, headers, tree)
    base_wheel = None
    if request.base_wheel is not None:
        suffix = request.interpreter.extension_suffix
        base_wheel = open_base_wheel(request.base_wheel, request.recipe.package, suffix, space / "base_wheel")
    works: list[Callable[[ProcessGroup], StaticLibrary | None]] = [
        partial(_install_requirements, request, tree, installed),
        *(partial(build_static, request, name) for name in request.static_sources()),
    ]
    statics = tuple(each for each in run_together(works) if each is not None)
    directories = (
        *(library.include for library in statics),
        *_find_jpeg_directories(request, headers, base_wheel, space),
        *headers.directories,
    )
    # Pillow's setup.py splits "-I" options at white space, so a path with a space would be cut.
    include = tuple(plain_path(each, plain / f"include-{index}") for index, each in enumerate(directories))
    archives = {library.name: library.archive for library in statics}
    return BuildContext(
        request=request,
        headers=replace(headers, directories=include),
        source=tree,
        kernels=kernels,
        statics=statics,
        base_wheel=base_wheel,
        placements=plan_core_placements(request, base_wheel, key) if base_wheel is not None else (),
        library_flags=library_flags(request, base_wheel, archives, plain / "link"),
        requirements=installed,
        space=space,
        log=log,
    )


def _install_requirements(request: BuildRequest, tree: Path, directory: Path, process_group: ProcessGroup) -> None:
    install_requirements(fetch_requirements(request, tree, process_group), request.interpreter, directory)


def _find_jpeg_directories(
    request: BuildRequest, headers: Headers, base_wheel: BaseWheel | None, space: Path
) -> tuple[Path, ...]:
    library = base_wheel.library("jpeg") if base_wheel is not None else None
    if base_wheel is None or base_wheel.libraries is None or library is None:
        return ()
    found = identify(base_wheel.libraries / library, kinds=(JPEG,))
    version = next((each.version for each in found if each.implementation == "libjpeg-turbo"), "")
    return matching_headers(request, headers, library, version, space / "jpeg")


def build_wheel(request: BuildRequest) -> BuildResult:
    """Build a wheel, or return a cached wheel that was built from the same inputs.

    Nothing outside the cache changes; a failed or interrupted build leaves only its log.

    Raises:
        FailedError: a header is missing, the build failed, or its result fails the audit.
    """
    variables, dropped = remove_stray_variables(request.variables)
    if dropped:
        message = f"{', '.join(dropped)} in the environment are ignored: the plan sets the flags of a build"
        request.emit(Noted(message=message))
    request = replace(request, variables=variables)
    headers = probe_headers(request)
    inputs = inputs_of(request, headers)
    key = wheel_cache.key_of(inputs)
    found = wheel_cache.find_cached_wheel(request.cache, key, request.emit)
    entry = found
    if entry is None:
        with wheel_cache.reserve_cache_key(request.cache, key, request.emit):
            # The process that held the lock may have built this wheel.
            found = wheel_cache.find_cached_wheel(request.cache, key, ignore)
            entry = found or _make_wheel(request, headers, inputs)
    if found is not None:
        request.emit(Noted(message=f"{found.wheel} is taken from the cache", detail=True))
    wheel = wheel_cache.locate_wheel(request.cache, entry)
    return BuildResult(wheel=wheel, sha256=entry.sha256, from_cache=found is not None)


def _make_wheel(request: BuildRequest, headers: Headers, inputs: dict[str, str]) -> wheel_cache.CachedWheel:
    key = wheel_cache.key_of(inputs)
    log = wheel_cache.log_of(request.cache, key)
    with (
        temporary_directories.temporary_directory("build", within=request.cache / "tmp") as space,
        plain_directory(space) as plain,
    ):
        context = prepare_build(request, headers, space=space, plain=plain, key=key, log=log)
        levels = compile_levels(context, context.place_flags)
        return wheel_cache.store_wheel(request.cache, inputs, assemble(context, levels), levels[0].features)


def inputs_of(request: BuildRequest, headers: Headers) -> dict[str, str]:
    """Return all inputs that determine the bytes of the wheel, by name: each as text or as a hash."""
    recipe, step, interpreter, compiler = request.recipe, request.step, request.interpreter, request.compiler.text
    sources = {
        "source": files.sha256(request.source),
        "base_wheel": files.sha256(request.base_wheel) if request.base_wheel is not None else "",
        "clang": step.clang.sha256 if step.clang is not None else "",
    }
    sdists = {name: files.sha256(path) for name, path in request.statics.items()}
    return {
        **list_known_inputs(recipe, step, interpreter, sources),
        "statics": make_statics_digest(recipe, step, sdists, compiler),
        "linked": " ".join(files.sha256(path) for path in find_linked_libraries(request))
        if request.base_wheel is None
        else "",
        "compiler": compiler,
        "headers": headers.digest,
        "libc": f"{interpreter.libc} {interpreter.libc_version}",
        "place": str(interpreter.site_packages) if step.link is LinkMode.ENV else "",
        **describe_given_wheels(request.wheelhouse),
    }


def find_ready(
    directory: Path, step: WheelOrder, recipe: Recipe, interpreter: Interpreter, wheelhouse: Path | None = None
) -> Iterator[wheel_cache.CachedWheel]:
    """Yield cached wheels that match a planned build and suit its interpreter, the newest first.

    Args:
        directory: root of the cache.
        step: the planned build.
        interpreter: the Python that the wheel is for.
        wheelhouse: the wheelhouse of this run, if any. A wheel that was built with a wheelhouse matches only if the
            wheelhouse of this run has the same content.
    """
    hashes = read_planned_hashes(step)
    if hashes is None or not hashes["source"] or not hashes["base_wheel"] or step.link is not LinkMode.BUNDLE:
        return
    if any("-march=native" in target.cflags for target in step.targets):
        return
    known = list_known_inputs(recipe, step, interpreter, hashes)
    tags = set(list_supported_tags(interpreter))
    given = describe_given_wheels(wheelhouse)
    sdists = {name: sdist.sha256 for name, sdist in step.statics.items()}
    for entry in wheel_cache.entries(directory):
        same = all(entry.inputs.get(name) == value for name, value in known.items())
        same = same and entry.inputs.get("wheelhouse") in (None, given.get("wheelhouse"))
        statics = make_statics_digest(recipe, step, sdists, entry.inputs.get("compiler", ""))
        if not same or entry.inputs.get("statics") != statics:
            continue
        name = parse_filename(entry.wheel)
        if name is not None and name.tags & tags and wheel_cache.is_wheel_intact(directory, entry):
            yield entry


def list_known_inputs(
    recipe: Recipe, step: WheelOrder, interpreter: Interpreter, hashes: Mapping[str, str]
) -> dict[str, str]:
    """Return the inputs of a wheel that are known from its plan, by name.

    Args:
        hashes: hashes of the input files, as returned by `read_planned_hashes`.
    """
    return {
        "pipeline": str(PIPELINE_VERSION),
        "recipe": recipe.name,
        **hashes,
        "rules": codec.digest((recipe.kernels, recipe.tuning)),
        "own": " ".join(map(files.sha256, list_kernel_sources(recipe))),
        "memory": files.sha256(memory) if (memory := find_memory_source(recipe)) is not None else "",
        "left_out": " ".join(step.left_out),
        "distribution": f"{step.distribution} {step.version}",
        "targets": codec.digest(step.targets),
        "link": step.link.value,
        "libraries": " ".join(sorted(list_enabled_libraries(recipe, step, carried=bool(hashes["base_wheel"])))),
        "python": f"{interpreter.implementation} {interpreter.minor} {interpreter.abi}",
        "platform": f"{interpreter.platform} {interpreter.extension_suffix}",
    }


def read_planned_hashes(step: WheelOrder) -> dict[str, str] | None:
    """Return the hashes of a step's input files by name; None if one of them is known only after the download."""
    files: dict[str, Artefact | None] = {"source": step.source, "base_wheel": step.base_wheel, "clang": step.clang}
    hashes = {name: artefact.sha256 if artefact is not None else "" for name, artefact in files.items()}
    known = all(hashes[name] for name, artefact in files.items() if artefact is not None)
    return hashes if known and all(each.sha256 for each in step.statics.values()) else None


def make_statics_digest(recipe: Recipe, step: WheelOrder, sdists: Mapping[str, str], compiler: str) -> str:
    """Return a digest of all inputs of the statically linked libraries.

    Args:
        recipe: defines how the libraries are built.
        step: the planned build.
        sdists: SHA-256 of the libraries' sdists, by the recipe's names of the libraries.
        compiler: `Compiler.text` of the compiler.
    """
    sources = ((name, sdist, recipe.libraries[name].static) for name, sdist in sdists.items())
    cflags = step.targets[0].cflags
    return codec.digest(
        {name: make_static_key(source, sdist, cflags, compiler) for name, sdist, source in sources if source}
    )
