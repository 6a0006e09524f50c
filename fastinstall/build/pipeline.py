"""From an sdist to a labelled wheel in the cache: the order of the stages, and nothing else.

Headers, a look into the cache, static libraries, source with merge and tuning, one compilation for each
level, audit, chassis or repair, certify, label, cache.
"""

import time
from dataclasses import replace
from pathlib import Path

from fastinstall.build import cache
from fastinstall.build.assemble import Parts, assemble
from fastinstall.build.groundwork import Site, lay_ground, static_orders
from fastinstall.build.headers import Headers, probe_headers
from fastinstall.build.lanes import compile_lanes
from fastinstall.build.linking import linked_libraries
from fastinstall.build.ready import known_inputs
from fastinstall.build.request import BuildRequest, BuildResult
from fastinstall.build.statics import static_inputs
from fastinstall.build.variables import without_stray
from fastinstall.model import codec
from fastinstall.model.event import Noted, ignore
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
    log = cache.log_of(request.cache, key)
    found = cache.find(request.cache, key, request.emit)
    entry = found
    if entry is None:
        with cache.reserved(request.cache, key, request.emit):
            found = cache.find(request.cache, key, ignore)  # by the one that was waited for
            entry = found or _made(request, headers, inputs, log)
    if found is not None:
        request.emit(Noted(message=f"{found.wheel} was built before, and is taken from the cache"))
    return BuildResult(
        wheel=cache.directory_of(request.cache, key) / entry.wheel,
        sha256=entry.sha256,
        from_cache=found is not None,
        features=entry.features,
        log=log,
        seconds=time.monotonic() - started,
    )


def _made(request: BuildRequest, headers: Headers, inputs: dict[str, str], log: Path) -> cache.Entry:
    with files.temporary_directory("build", within=request.cache / "tmp") as space:
        site = Site(request=request, headers=headers, space=space, key=cache.key_of(inputs), log=log)
        wheel, features = _build(site)
        return cache.store(request.cache, inputs, wheel, features)


def inputs_of(request: BuildRequest, headers: Headers) -> dict[str, str]:
    """Everything that decides the bytes of the wheel, by name."""
    step, interpreter = request.step, request.interpreter
    return {
        **known_inputs(request.recipe, step, interpreter, _digests(request)),
        "statics": codec.digest({order.name: static_inputs(order) for order in static_orders(request)}),
        "linked": " ".join(files.sha256(path) for path in linked_libraries(request)) if request.chassis is None else "",
        "compiler": request.compiler.text,
        "headers": headers.digest,
        "libc": f"{interpreter.libc} {interpreter.libc_version}",
        "place": str(interpreter.site_packages) if step.link is LinkMode.ENV else "",
    }


def _digests(request: BuildRequest) -> dict[str, str]:
    sources = {
        "source": request.source,
        "kernels": request.kernels,
        "base": request.base,
        "chassis": request.chassis,
    }
    return {name: files.sha256(path) if path is not None else "" for name, path in sources.items()}


def _tidied(request: BuildRequest) -> BuildRequest:
    variables, dropped = without_stray(request.variables)
    if dropped:
        message = f"{', '.join(dropped)} of the environment: not used, for the flags of a build are the plan's"
        request.emit(Noted(message=message))
    return replace(request, variables=variables)


def _build(site: Site) -> tuple[Path, dict[str, str | None]]:
    work = lay_ground(site)
    lanes = compile_lanes(work.ground, work.places)
    parts = Parts(
        request=site.request,
        headers=site.headers,
        report=work.prepared.report,
        statics=work.statics,
        requirements=work.ground.requirements,
        chassis=work.chassis,
        berths=work.berths,
        lanes=lanes,
        space=site.space,
    )
    return assemble(parts), lanes[0].compiled.features
