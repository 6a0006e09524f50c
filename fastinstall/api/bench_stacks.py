"""Other PILs to compare with, unpacked into our cache: the newest official wheel, and our build before it is installed.

In quick mode nothing is fetched or built: what is in the cache has to do.
"""

from pathlib import Path

from fastinstall.actions.prove import unpacked
from fastinstall.api.bench_cached import find_cached_build, find_official_wheel
from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_scene import holds_our_build, workshop_of
from fastinstall.api.target import Target
from fastinstall.bench.contestant import Stack, Stacks
from fastinstall.build.wheel import unpack_wheel
from fastinstall.errors import FastinstallError
from fastinstall.model.artefact import Artefact
from fastinstall.model.event import Started
from fastinstall.model.wish import Wish
from fastinstall.system import files

_NO_BUILD = "our build is not in the cache"


def prepare_stacks(context: BenchContext) -> Stacks:
    """Have both ready, as far as may be; what could not be had says why."""
    return Stacks(official=_official(context), ours=None if holds_our_build(context) else _ours(context))


def _official(context: BenchContext) -> Stack | None:
    title = "the newest official wheel"
    try:
        wheel = (
            find_official_wheel(context.session.own_cache(), context.facts.interpreter)
            if context.wish.quick
            else _newest_official(context)
        )
        if wheel is None:
            missing = "is not in the cache" if context.wish.quick else "does not exist for this Python"
            return Stack(title=title, absent=f"{title} {missing}")
        title = f"pillow {wheel.version} (official wheel)"
        stage = unpacked(wheel, workshop_of(context, offline=context.wish.quick))
    except FastinstallError as error:
        return Stack(title=title, absent=error.message)
    return None if _is_in_place(context, stage) else Stack(title=title, directory=stage)


def _newest_official(context: BenchContext) -> Artefact | None:
    workshop = workshop_of(context, offline=False)
    found = workshop.index.releases_for((workshop.recipe,), context.facts.interpreter)[workshop.recipe.name].wheels
    return found[0] if found else None


def _ours(context: BenchContext) -> Stack | None:
    title = "fastinstall's build, not installed yet"
    try:
        wheel = (
            find_cached_build(context.session.own_cache(), context.facts.interpreter)
            if context.wish.quick or not context.wish.build
            else _built(context)
        )
        if wheel is None:
            return Stack(title=title, absent=_NO_BUILD)
        stage = _stage(wheel, context.session.own_cache())
    except FastinstallError as error:
        return Stack(title=title, absent=error.message)
    if _is_in_place(context, stage):
        return None
    return Stack(title=f"pillow {wheel.name.split('-')[1]} (fastinstall, not installed yet)", directory=stage)


def _built(context: BenchContext) -> Path:
    """Our build as a setup would make it; compiling takes about half a minute, and is said before."""
    from fastinstall.api.building import build_into  # noqa: PLC0415 (only where it may be built)

    message = "making fastinstall's build, to measure it before it is installed (--no-build leaves it out)"
    context.session.emit(Started(stage="build", message=message))
    target = Target(prefix=Path(context.environment.prefix), python=context.python)
    return build_into(context.session, target, Wish(), context.space / "wheel").result.wheel


def _stage(wheel: Path, cache: Path) -> Path:
    """A wheel of ours as a directory that can go on `sys.path`; kept in the cache like the official ones."""
    target = cache / "unpacked" / files.sha256(wheel)
    if target.is_dir():
        return target
    files.make_directories(target.parent, durable=False)
    with files.temporary_directory("unpack", within=cache / "tmp") as scratch:
        unpack_wheel(wheel, scratch / "tree")
        if not target.exists():
            files.rename(scratch / "tree", target)
    return target


def _is_in_place(context: BenchContext, stage: Path) -> bool:
    core = stage / "PIL" / Path(context.core.path).name
    return core.is_file() and files.sha256(core) == context.core.sha256
