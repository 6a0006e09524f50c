"""What can be compared here: candidates from what is installed, in the cache, or brought, and who was asked for."""

from collections.abc import Iterator, Mapping

from fastinstall.api.bench_context import BenchContext
from fastinstall.bench.adapting import adapter_problems, all_adapters
from fastinstall.bench.candidates import (
    FASTINSTALL,
    OFFICIAL_WHEEL,
    TOGETHER,
    Materials,
    make_candidate_runs,
    select_candidate_runs,
)
from fastinstall.bench.contestant import CandidateRun, Library, Stacks
from fastinstall.bench.environments import Fetching, fetch_packages
from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.presence import find_modules
from fastinstall.bench.settings import SETTINGS, find_preloads
from fastinstall.bench.store_kinds import all_kinds
from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Candidate, Kind, Outcome

_ALL = "all"


@immutable
class Known:
    """A candidate that there could be.

    Attributes:
        name: stable, in kebab case.
        title: for people.
        kind: what it changes.
        requirements: packages that it needs; `--with NAME` fetches them.
    """

    name: str
    title: str
    kind: Kind
    requirements: tuple[str, ...] = ()


def known_candidates() -> tuple[Known, ...]:
    """Every candidate, whether it can be measured on this machine or not."""
    stacks = (
        Known(name=FASTINSTALL, title="fastinstall's build, before it is installed", kind=Kind.STACK),
        Known(name=OFFICIAL_WHEEL, title="the newest official wheel of Pillow", kind=Kind.STACK),
    )
    decoders = (
        Known(name=each.name, title=each.title, kind=Kind.DECODER, requirements=each.brings) for each in all_adapters()
    )
    settings = (Known(name=each.name, title=each.title, kind=Kind.SETTING) for each in (*SETTINGS, *find_preloads()))
    stores = (
        Known(name=each.name, title=each.title, kind=Kind.STORAGE, requirements=each.brings) for each in all_kinds()
    )
    joined = Known(name=TOGETHER, title="what helps and leaves the pictures as they are, together", kind=Kind.TOGETHER)
    return (*stacks, *decoders, *settings, *stores, joined)


def materials_for(context: BenchContext, stacks: Stacks) -> Materials:
    """Everything that candidates are made from; packages that were asked for are fetched now.

    Raises:
        UsageError: packages were asked for of what is no candidate.
    """
    for problem in adapter_problems():
        context.remark(problem)
    return Materials(
        machine=context.machine,
        variables=context.session.variables,
        own_loader=bool(context.wish.loader),
        official=stacks.official,
        fastinstall=stacks.ours,
        libraries=dict(_libraries(context)),
        settings=(*SETTINGS, *find_preloads()),
    )


def choose_candidate_runs(context: BenchContext, materials: Materials) -> tuple[CandidateRun, ...]:
    """Whom the baseline is held against.

    Raises:
        UsageError: a name was asked for that is no candidate's.
    """
    known = {each.name: each for each in known_candidates()}
    names = context.wish.candidates
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no candidate is called {unknown[0]!r}", hint=f"there are: {', '.join(known)}")
    found = select_candidate_runs(make_candidate_runs(materials), names)
    there = {TOGETHER, *(each.name for each in found)}
    return (*found, *(_not_here(known[name]) for name in names if name not in there))


def _not_here(known: Known) -> CandidateRun:
    """What was asked for, and is no candidate on this machine."""
    reason = "it is what is in place" if known.kind is Kind.STACK else "it is set already, or not known to this system"
    candidate = Candidate(name=known.name, title=known.title, kind=known.kind, variables={})
    return CandidateRun(candidate=candidate, absent=reason, absence=Outcome.UNSUITED)


@immutable
class _Need:
    """What an adapter or a store needs: modules, what brings them, of that sdists, and why it is not done (if so)."""

    title: str
    modules: tuple[str, ...]
    brings: tuple[str, ...]
    sdists: tuple[str, ...] = ()
    by_hand: str = ""


def _needs() -> dict[str, _Need]:
    """By name; what needs nothing but Pillow is left out."""
    adapters = {
        each.name: _Need(
            title=each.title, modules=each.modules, brings=each.brings, sdists=each.sdists, by_hand=each.by_hand
        )
        for each in all_adapters()
    }
    stores = {each.name: _Need(title=each.title, modules=each.modules, brings=each.brings) for each in all_kinds()}
    return {name: need for name, need in {**adapters, **stores}.items() if set(need.modules) - {"PIL"}}


def _libraries(context: BenchContext) -> Iterator[tuple[str, Library]]:
    needs = _needs()
    wanted = _brought(context, needs)
    names = [module for each in needs.values() for module in each.modules]
    there = find_modules(names, context.python, context.session.variables)
    for name, need in needs.items():
        lacking = [module for module in need.modules if module not in there]
        if name in wanted:
            yield name, _fetched(context, name, need)
        elif lacking:
            yield name, Library(absent=_absent(name, need, lacking[0]))


def _brought(context: BenchContext, needs: Mapping[str, _Need]) -> frozenset[str]:
    asked = context.wish.bring
    if asked == (_ALL,):
        return frozenset(name for name, need in needs.items() if not need.by_hand)
    for name in asked:
        if name not in needs:
            problem = f"--with {name}: no candidate of that name has packages to fetch"
            raise UsageError(problem, hint=f"--with {_ALL}, or some of {', '.join(needs)}")
    return frozenset(asked)


def _fetched(context: BenchContext, name: str, need: _Need) -> Library:
    if need.by_hand:
        return Library(absent=need.by_hand)
    fetching = Fetching(
        interpreter=context.facts.interpreter,
        cache=context.session.own_cache(),
        variables=context.session.variables,
        emit=context.session.emit,
        offline=context.wish.quick,
        sdists=need.sdists,
    )
    try:
        return Library(directory=fetch_packages(name, need.brings, fetching))
    except NotLoadedError as error:
        return Library(absent=error.reason)
    except RefusedError:
        return Library(absent=f"its packages are not in our cache, and --quick fetches nothing; {_how(name)}")


def _absent(name: str, need: _Need, module: str) -> str:
    return f"{module} is not installed; {need.by_hand or _how(name)}"


def _how(name: str) -> str:
    return f"to measure it all the same: fastinstall bench --with {name}"
