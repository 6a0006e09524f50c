"""Everything that a compilation needs, made ready before it: libraries, source, chassis, headers, requirements."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from fastinstall.build.berths import Berth, berths
from fastinstall.build.chassis import Chassis, open_chassis
from fastinstall.build.headers import Headers
from fastinstall.build.jpeg_headers import matching_headers
from fastinstall.build.lanes import Ground
from fastinstall.build.linking import Place, linking, own_place
from fastinstall.build.prepare import Prepared, prepare_source
from fastinstall.build.request import BuildRequest
from fastinstall.build.requirements import fetch_requirements
from fastinstall.build.statics import StaticLibrary, StaticOrder, build_static
from fastinstall.model.immutable import immutable
from fastinstall.system.process import Leash
from fastinstall.system.together import awaited


@immutable
class Site:
    """Where one build happens.

    Attributes:
        request: the build.
        headers: as found.
        space: the build's own temporary directory.
        key: of the cache.
        log: the file that receives the output of the compilation.
    """

    request: BuildRequest
    headers: Headers
    space: Path
    key: str
    log: Path


@immutable
class Groundwork:
    """What is ready once nothing is left to be done but to compile.

    Attributes:
        prepared: the source.
        statics: libraries that are linked into the cores.
        chassis: the unpacked official wheel, if one carries the cores.
        berths: where each core will lie in it.
        ground: what all levels share.
    """

    prepared: Prepared
    statics: tuple[StaticLibrary, ...]
    chassis: Chassis | None
    berths: tuple[Berth, ...]
    ground: Ground

    @property
    def places(self) -> dict[str, Place]:
        """Where the core of each level will lie, by the level's name."""
        if self.chassis is None:
            return {target.level: own_place(self.ground.request) for target in self.ground.request.step.targets}
        return {berth.target.level: berth.place for berth in self.berths}


def lay_ground(site: Site) -> Groundwork:
    """Make everything ready.

    Raises:
        FailedError: something is missing, or the merged source fails its static checks.
    """
    request, space = site.request, site.space
    prepared, statics = _source_and_libraries(site)
    chassis = _chassis(request, space)
    return Groundwork(
        prepared=prepared,
        statics=tuple(statics.values()),
        chassis=chassis,
        berths=berths(request, chassis, site.key) if chassis is not None else (),
        ground=_ground(site, prepared, chassis, statics),
    )


def _source_and_libraries(site: Site) -> tuple[Prepared, dict[str, StaticLibrary]]:
    """Both at the same time: a library's `configure` and our merge would each leave a processor idle.

    The merge stays in this thread, so that an interruption ends it at once.
    """
    leash = Leash()
    with ThreadPoolExecutor(max_workers=1) as pool:
        libraries = pool.submit(_libraries, site.request, leash)
        try:
            return prepare_source(site.request, site.headers, site.space), awaited(libraries)
        except BaseException:
            leash.pull()
            raise


def _libraries(request: BuildRequest, leash: Leash) -> dict[str, StaticLibrary]:
    return {order.name: build_static(order, leash) for order in static_orders(request)}


def static_orders(request: BuildRequest) -> tuple[StaticOrder, ...]:
    """The static libraries of a build: compiled for its least level, as one archive serves them all."""
    found = []
    for name, sdist in request.statics.items():
        source = request.recipe.libraries[name].static
        if source is None:
            continue
        order = StaticOrder(
            name=name,
            sdist=sdist,
            source=source,
            compiler=request.compiler,
            cflags=request.step.targets[0].cflags,
            jobs=request.step.jobs,
            cache=request.cache,
            variables=request.variables,
            emit=request.emit,
        )
        found.append(order)
    return tuple(found)


def _ground(site: Site, prepared: Prepared, chassis: Chassis | None, statics: Mapping[str, StaticLibrary]) -> Ground:
    request, space = site.request, site.space
    archives = {name: library.archive for name, library in statics.items()}
    directories = (
        *(library.include for library in statics.values()),
        *_jpeg_directories(site, chassis),
        *site.headers.directories,
    )
    return Ground(
        request=request,
        headers=replace(site.headers, directories=directories),
        source=prepared.tree,
        link=linking(request, chassis, archives, space / "link"),
        requirements=fetch_requirements(request, prepared.tree),
        space=space,
        log=site.log,
    )


def _chassis(request: BuildRequest, space: Path) -> Chassis | None:
    if request.chassis is None:
        return None
    suffix = request.interpreter.extension_suffix
    return open_chassis(request.chassis, request.recipe.package, suffix, space / "chassis")


def _jpeg_directories(site: Site, chassis: Chassis | None) -> tuple[Path, ...]:
    library = chassis.library("jpeg") if chassis is not None else None
    if library is None:
        return ()
    return matching_headers(site.request, site.headers, library, site.space / "jpeg")
