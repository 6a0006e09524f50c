"""From an sdist to a proven, labelled wheel in the cache: the order of the stages, and nothing else.

Headers, a look into the cache, source, compile, audit, chassis or repair, certify, label, cache.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from fastinstall.build import cache
from fastinstall.build.audit import audit_core
from fastinstall.build.certify import certified_chassis
from fastinstall.build.chassis import CORE, Chassis, open_chassis, replace_core
from fastinstall.build.compile import STAGE, Compiled, Workshop, compile_wheel
from fastinstall.build.headers import Headers, probe_headers
from fastinstall.build.jpeg_headers import matching_headers
from fastinstall.build.label import Label, label_tree
from fastinstall.build.linking import linked_libraries, linking
from fastinstall.build.precompiled import precompiled
from fastinstall.build.provenance import PIPELINE_VERSION, bill_of_materials, provenance, provenance_text
from fastinstall.build.repair import repair_wheel
from fastinstall.build.request import BuildRequest, BuildResult
from fastinstall.build.source import extract_source
from fastinstall.build.variables import preprocessor_flags, without_stray
from fastinstall.build.wheel import pack_wheel, tags_of, unpack_wheel
from fastinstall.model.event import Finished, Noted, Started
from fastinstall.model.wish import LinkMode
from fastinstall.system import files


def build_wheel(request: BuildRequest) -> BuildResult:
    """Build a wheel, or take it from the cache when everything that decides its bytes is the same.

    Nothing outside the cache is changed; a build that fails or is interrupted leaves only its log there.

    Raises:
        FailedError: a header is missing, the build failed, or what it made is not what was asked for.
    """
    started = time.monotonic()
    request = _tidied(request)
    headers = probe_headers(request)
    inputs = inputs_of(request, headers)
    key = cache.key_of(inputs)
    log = request.cache / "logs" / f"build-{key[:16]}.log"
    entry = cache.find(request.cache, key, request.emit)
    from_cache = entry is not None
    if entry is None:
        with files.temporary_directory("build", within=request.cache / "tmp") as space:
            wheel, features = _build(request, headers, space, log)
            entry = cache.store(request.cache, inputs, wheel, features)
    else:
        request.emit(Noted(message=f"{entry.wheel} was built before, and is taken from the cache"))
    return BuildResult(
        wheel=cache.directory_of(request.cache, key) / entry.wheel,
        sha256=entry.sha256,
        from_cache=from_cache,
        features=entry.features,
        log=log,
        seconds=time.monotonic() - started,
    )


def inputs_of(request: BuildRequest, headers: Headers) -> dict[str, str]:
    """Everything that decides the bytes of the wheel, by name."""
    step, interpreter = request.step, request.interpreter
    python = (interpreter.implementation, ".".join(interpreter.version.split(".")[:2]), interpreter.abi)
    return {
        "pipeline": str(PIPELINE_VERSION),
        "recipe": request.recipe.name,
        "source": files.sha256(request.source),
        "chassis": files.sha256(request.chassis) if request.chassis is not None else "",
        "distribution": f"{step.distribution} {step.version}",
        "level": step.level,
        "cflags": " ".join(step.cflags),
        "ldflags": " ".join(step.ldflags),
        "link": step.link.value,
        "libraries": " ".join(sorted(request.enabled())),
        "linked": " ".join(files.sha256(path) for path in linked_libraries(request)) if request.chassis is None else "",
        "compiler": f"{' '.join(request.compiler.command)}: {request.compiler.version}",
        "headers": headers.digest,
        "python": " ".join(python),
        "platform": f"{interpreter.platform} {interpreter.extension_suffix}",
        "libc": f"{interpreter.libc} {interpreter.libc_version}",
        "place": str(interpreter.site_packages) if step.link is LinkMode.ENV else "",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """Values that the stages of one build share.

    Attributes:
        request: the build.
        headers: as found.
        space: the build's own temporary directory.
        chassis: the unpacked official wheel, if one carries the core.
    """

    request: BuildRequest
    headers: Headers
    space: Path
    chassis: Chassis | None


def _tidied(request: BuildRequest) -> BuildRequest:
    variables, dropped = without_stray(request.variables)
    if dropped:
        message = f"{', '.join(dropped)} of the environment: not used, for the flags of a build are the plan's"
        request.emit(Noted(message=message))
    return replace(request, variables=variables)


def _build(request: BuildRequest, headers: Headers, space: Path, log: Path) -> tuple[Path, dict[str, str | None]]:
    bench = _Bench(request=request, headers=headers, space=space, chassis=_chassis(request, space))
    compiled = _compile(bench, log)
    started = time.monotonic()
    request.emit(Started(stage="bundle", message="putting the wheel together"))
    tree, platforms = _bundle(bench, compiled)
    wheel = _label(bench, compiled, tree, platforms)
    request.emit(Finished(stage="bundle", message=wheel.name, seconds=time.monotonic() - started))
    return wheel, compiled.features


def _chassis(request: BuildRequest, space: Path) -> Chassis | None:
    if request.chassis is None:
        return None
    suffix = request.interpreter.extension_suffix
    return open_chassis(request.chassis, request.recipe.package, suffix, space / "chassis")


def _compile(bench: _Bench, log: Path) -> Compiled:
    request, started = bench.request, time.monotonic()
    what = f"{request.recipe.source.pypi} for {request.step.level}"
    request.emit(Started(stage=STAGE, message=f"compiling {what}"))
    source = extract_source(request.source, bench.space / "source")
    workshop = Workshop(source=source, output=bench.space / "built", temporary=bench.space / "tmp", log=log)
    workshop.temporary.mkdir()
    link = linking(request, bench.chassis, bench.space / "link")
    directories = (*_jpeg_directories(bench), *bench.headers.directories)
    headers = replace(bench.headers, directories=directories)
    with precompiled(request, headers, source) as prefix:
        compiled = compile_wheel(request, workshop, link, preprocessor_flags(directories, prefix))
    request.emit(Finished(stage=STAGE, message=f"compiled {what}", seconds=time.monotonic() - started))
    return compiled


def _jpeg_directories(bench: _Bench) -> tuple[Path, ...]:
    library = bench.chassis.library("jpeg") if bench.chassis is not None else None
    if library is None:
        return ()
    return matching_headers(bench.request, bench.headers, library, bench.space / "jpeg")


def _bundle(bench: _Bench, compiled: Compiled) -> tuple[Path, tuple[str, ...]]:
    """Audit the core, and give the tree of the wheel with its platform tags."""
    request = bench.request
    built = bench.space / "tree"
    unpack_wheel(compiled.wheel, built)
    core = built / request.recipe.package / f"{CORE}{request.interpreter.extension_suffix}"
    audit_core(core, request.recipe.expect.symbols, request.step.ldflags)
    if bench.chassis is not None:
        replace_core(bench.chassis, built)
        return bench.chassis.root, certified_chassis(bench.chassis, request.variables, bench.space)
    if request.step.link is not LinkMode.BUNDLE:
        return built, tags_of(built).platforms
    repaired = bench.space / "repaired"
    unpack_wheel(repair_wheel(request, compiled.wheel, bench.space / "repair"), repaired)
    return repaired, tags_of(repaired).platforms


def _label(bench: _Bench, compiled: Compiled, tree: Path, platforms: tuple[str, ...]) -> Path:
    request, step = bench.request, bench.request.step
    if any(platform.startswith("linux_") for platform in platforms) and step.link is LinkMode.BUNDLE:
        request.emit(Noted(message="the wheel fits no manylinux policy: it is for this system only", warning=True))
    made = provenance(request, bench.headers, compiled.features)
    label = Label(
        distribution=step.distribution,
        version=step.version,
        summary=f"Rebuild of {made.source.name} {made.source.version} by fastinstall for {step.level}",
        platforms=platforms,
        provenance=provenance_text(made),
        sbom=bill_of_materials(request, made, tree),
    )
    wheel = bench.space / label_tree(tree, label)
    pack_wheel(tree, wheel)
    return wheel
