"""A saved plan may come from anybody: it may ask for nothing that its recipe and this program would not plan. Pure.

Before consent its text is judged alone (`plan_problems`), and what it would fetch is listed (`fetched`). Then the plan
is decided anew, of the files that it names (`releases_named_by`), and has to say the same (`differences`): its risks,
warnings and steps are never its own word. Risks are accepted by whoever carries it out (`with_allowed`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.values import encode
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import CHANNEL, PINS
from fastinstall.model.plan import Plan
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.recipe_documents import Problem
from fastinstall.model.request import Risk
from fastinstall.model.steps import (
    Build,
    ChangeCondaPackages,
    CondaToolchain,
    CreateEnvironment,
    LevelTarget,
    MakeCondaPackages,
    Pin,
    PinForPip,
    PrivateHeaders,
    Prove,
    Step,
    Swap,
    SystemPackages,
)
from fastinstall.observe.pip_pins import CONFIGURATION, DIRECTORY
from fastinstall.observe.toolchain import RECORD_SWITCHES

_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.+_-]*[A-Za-z0-9+])?")
_SPEC = re.compile(r"[A-Za-z0-9_][^\s'\"$`;|&<>\\]*(?: ?[<>=!~|,.*\w+-]+)*")
_VERSION = re.compile(r"[A-Za-z0-9.+!_]+")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+!-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ADDRESS = re.compile(r"(?:https?|file)://[^\s]*|/[^\0\n]*")
_UNJUDGED = frozenset({"reason", "jobs", "url", "provenance", "size", "facts_digest", "allow", "allowed", "python"})
"""Keys that need not be the same: words, what the machine grants, where a file of that hash lies, and what is judged
elsewhere (the digest of the facts, who accepts a risk, how the interpreter is called)."""

_BRIEF = 200
PLAN_AGAIN = "make it again: fastinstall plan -o FILE"


def plan_problems(plan: Plan, recipe: Recipe) -> Iterator[Problem]:
    """What a saved plan says that none of ours would, as dotted key and problem.

    Args:
        plan: as it was read.
        recipe: the one that its wish names, as it is here.
    """
    for index, step in enumerate(plan.steps):
        for key, problem in _step_problems(step, plan, recipe):
            yield f"steps[{index}].{key}", problem


def releases_named_by(plan: Plan, releases: Releases) -> Releases:
    """What is on offer, less what is later than what a plan names: later releases do not make it another one.

    Raises:
        RefusedError: a file that it names is not on offer with that hash.
    """
    named = {(each.filename, each.sha256): each for step in plan.steps for each in artefacts_of(step)}

    def kept(offered: Iterable[Artefact]) -> tuple[Artefact, ...]:
        each_of = tuple(offered)
        taken = {parse_version_number(each.version) for each in each_of if (each.filename, each.sha256) in named}
        return tuple(each for each in each_of if taken and parse_version_number(each.version) <= max(taken))

    statics = {name: kept(offered) for name, offered in releases.statics.items()}
    found = replace(
        releases,
        sources=kept(releases.sources),
        wheels=kept(releases.wheels),
        kernels=kept(releases.kernels),
        bases=kept(releases.bases),
        statics=statics,
        prebuilt=kept(releases.prebuilt),
    )
    kinds = (found.sources, found.wheels, found.kernels, found.bases, found.prebuilt, *statics.values())
    offered = {(each.filename, each.sha256) for kind in kinds for each in kind}
    for key, artefact in named.items():
        if key not in offered:
            raise RefusedError(
                f"the plan names {artefact.filename} with sha256 {artefact.sha256 or 'unknown'}, "
                f"and {releases.origin} has no such file",
                hint=PLAN_AGAIN,
            )
    return found


def differences(saved: Plan, anew: Plan) -> Iterator[tuple[str, str]]:
    """Where a saved plan says something else than what is decided now, as dotted key and what both say.

    More warnings than now are none: a later release may have been warned of that is not looked at any more.
    """
    missing = [warning for warning in anew.warnings if warning not in saved.warnings]
    yield from (("warnings", f"does not say: {warning}") for warning in missing)
    one, other = (encode(replace(each, warnings=())) for each in (saved, anew))
    yield from _differences(one, other, "")


def with_allowed(plan: Plan, allowed: Iterable[Risk]) -> Plan:
    """A plan whose risks are accepted by those words alone, whatever it says itself."""
    risks = tuple(allowed)
    hazards = tuple(replace(hazard, allowed=hazard.risk in risks) for hazard in plan.hazards)
    return replace(plan, hazards=hazards, wish=replace(plan.wish, allow=risks))


def _differences(saved: object, anew: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(saved, dict) and isinstance(anew, dict):
        for name in {**anew, **saved}:
            if name not in _UNJUDGED:
                yield from _differences(saved.get(name), anew.get(name), f"{key}.{name}" if key else name)
    elif isinstance(saved, list) and isinstance(anew, list) and len(saved) == len(anew):
        for index, (one, other) in enumerate(zip(saved, anew, strict=True)):
            yield from _differences(one, other, f"{key}[{index}]")
    elif saved != anew:
        yield key, f"expected {_brief(anew)}, found {_brief(saved)}"


def _brief(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them" if value else "none"
    text = str(value.get("kind") or value.get("risk") or value) if isinstance(value, dict) else repr(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."


def list_fetched_artefacts(plan: Plan) -> tuple[str, ...]:
    """What carrying a plan out would fetch or install, each with the address and the hash that it must have."""
    lines: list[str] = []
    for step in plan.steps:
        lines += (
            f"fetch {each.filename} from {each.url} sha256 {each.sha256 or 'unknown'}" for each in artefacts_of(step)
        )
        lines += (f"fetch {each.dist} from {each.url or each.channel}" for each in _conda_packages(step))
    return tuple(dict.fromkeys(lines))


def _step_problems(step: Step, plan: Plan, recipe: Recipe) -> Iterator[Problem]:
    for artefact in artefacts_of(step):
        yield from _artefact_problems(artefact)
    leaving = step.change.unlinked if isinstance(step, ChangeCondaPackages) else ()
    for package in (*_conda_packages(step), *leaving):
        yield from _conda_problems(package)
    match step:
        case CreateEnvironment():
            yield from _absolute(step.prefix, "prefix")
            yield from _absolute(step.python, "python")
            if step.prefix != plan.environment.prefix:
                yield "prefix", f"{step.prefix} is not the environment of the plan"
        case SystemPackages() | PrivateHeaders():
            yield from _words(step.packages, "packages", _PACKAGE, "the name of a package")
        case CondaToolchain():
            yield from _words(step.packages, "packages", _SPEC, "a match spec")
            yield from _words(step.channels, "channels", re.compile(r"[^\s-]\S*"), "a channel")
        case Build():
            yield from _build_problems(step, plan, recipe)
        case Swap():
            names = (*step.removes, *step.entries, step.installs, *step.records)
            yield from (("removes", f"{name!r} is not the name of an entry") for name in names if not _is_name(name))
        case _:
            yield from _place_problems(step, plan)


def _place_problems(step: Step, plan: Plan) -> Iterator[Problem]:
    """Where a step would write elsewhere than where its kind writes."""
    match step:
        case MakeCondaPackages() if step.channel != plan.environment.prefix / CHANNEL:
            yield "channel", f"expected {plan.environment.prefix / CHANNEL}, found {step.channel}"
        case Pin() if step.file != PINS or "\n" in step.line.strip("\n"):
            yield "file", f"expected one line for {PINS}, found {step.line!r} for {step.file!r}"
        case PinForPip() if (step.file, step.directory) != (CONFIGURATION, DIRECTORY):
            yield "file", f"expected {CONFIGURATION} and {DIRECTORY}, found {step.file!r} and {step.directory!r}"
        case _:
            return


def _build_problems(step: Build, plan: Plan, recipe: Recipe) -> Iterator[Problem]:
    if step.recipe != plan.wish.recipe:
        yield "recipe", f"{step.recipe!r} is not the recipe of the plan, {plan.wish.recipe!r}"
    if step.distribution not in recipe.replaces:
        yield "distribution", f"{step.distribution!r} is none that {recipe.name} makes"
    if not _VERSION.fullmatch(step.version):
        yield "version", f"{step.version!r} is not a version"
    yield from (
        ("libraries", f"{recipe.name} has no library {name!r}")
        for name in {*step.libraries, *step.statics} - recipe.libraries.keys()
    )
    parts = [part.name for part in recipe.kernels.parts] if recipe.kernels else []
    yield from (("without", f"{recipe.name} has no part {name!r}") for name in step.without if name not in parts)
    yield from _origin_problems(step, recipe)
    levels = {level.name: level for level in recipe.levels}
    for index, target in enumerate(step.targets):
        if target.level not in levels:
            yield f"targets[{index}].level", f"{recipe.name} has no level {target.level!r}"
        else:
            yield from _flag_problems(target, levels[target.level], recipe, f"targets[{index}]")


def _origin_problems(step: Build, recipe: Recipe) -> Iterator[Problem]:
    """Where something else is built than what the recipe names."""
    kernels = recipe.kernels
    expected: list[tuple[str, Artefact | None, str]] = [
        ("source", step.source, recipe.source.pypi),
        ("chassis", step.chassis, recipe.source.chassis),
        ("kernels", step.kernels, kernels.pypi if kernels else ""),
        ("base", step.base, kernels.follows if kernels else ""),
    ]
    for name, linked in step.statics.items():
        static = recipe.libraries[name].static if name in recipe.libraries else None
        expected.append((f"statics.{name}", linked, static.pypi if static else ""))
    for key, artefact, name in expected:
        if artefact is not None and artefact.name != name:
            yield key, f"{recipe.name} takes {name or 'nothing'} here, and this is {artefact.name!r}"
    if step.prebuilt is not None and step.prebuilt.name not in recipe.replaces:
        yield "prebuilt", f"{step.prebuilt.name!r} is none that {recipe.name} makes"


def _flag_problems(target: LevelTarget, level: Level, recipe: Recipe, key: str) -> Iterator[Problem]:
    known = {*recipe.base_cflags, *level.cflags, *level.fallback, RECORD_SWITCHES}
    for flag in target.cflags:
        if flag not in known:
            yield f"{key}.cflags", f"{flag!r} is no flag of {recipe.name} for {level.name}"
    for flag in target.ldflags:
        if flag not in level.ldflags:
            yield f"{key}.ldflags", f"{flag!r} is no flag of {recipe.name} for {level.name}"


def artefacts_of(step: Step) -> tuple[Artefact, ...]:
    """The files that a step fetches from an index, or from a directory in its place."""
    match step:
        case Build():
            named = (step.prebuilt, step.source, step.kernels, step.base, *step.statics.values(), step.chassis)
            return tuple(each for each in named if each is not None)
        case Prove():
            return tuple(each for each in (step.reference, step.baseline) if each is not None)
        case _:
            return ()


def _conda_packages(step: Step) -> tuple[CondaPackage, ...]:
    return step.change.linked if isinstance(step, ChangeCondaPackages) else ()


def _artefact_problems(artefact: Artefact) -> Iterator[Problem]:
    key = artefact.filename
    if not _FILE.fullmatch(artefact.filename):
        yield "filename", f"{artefact.filename!r} is not the name of a wheel or sdist"
    if not _ADDRESS.fullmatch(artefact.url):
        yield f"{key}.url", f"{artefact.url!r} is neither an address nor an absolute path"
    if artefact.sha256 and not _SHA256.fullmatch(artefact.sha256):
        yield f"{key}.sha256", f"{artefact.sha256!r} is no SHA-256"


def _conda_problems(package: CondaPackage) -> Iterator[Problem]:
    yield from _words(
        (package.name, package.build), "change.linked", re.compile(r"[A-Za-z0-9_][\w.+-]*"), "a name of conda's"
    )
    if package.url and not _ADDRESS.fullmatch(package.url):
        yield "change.linked.url", f"{package.url!r} is not an address"


def _words(words: tuple[str, ...], key: str, pattern: re.Pattern[str], what: str) -> Iterator[Problem]:
    yield from (
        (f"{key}[{index}]", f"{word!r} is not {what}")
        for index, word in enumerate(words)
        if not pattern.fullmatch(word)
    )


def _absolute(path: PurePath, key: str) -> Iterator[Problem]:
    if not path.is_absolute():
        yield key, f"{path} is not absolute"


def _is_name(name: str) -> bool:
    return bool(name) and "/" not in name and name not in (".", "..") and not name.startswith("-")
