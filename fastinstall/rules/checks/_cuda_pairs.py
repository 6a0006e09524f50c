"""Whether what has to be of one making is: torch and torchvision, and one torch alone."""

from collections.abc import Iterator

from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.gpu import FrameworkBuild, Gpu
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._cuda_remedies import fitting_pair
from fastinstall.rules.checks._cuda_words import dated, named
from fastinstall.rules.checks._verify import show_owner, show_text
from fastinstall.rules.checks._voice import Voice
from fastinstall.rules.cuda import major, minor, torchvision_for


def judge_pairs(say: Voice, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """What does not belong together."""
    builds = {build.name: build for build in gpu.frameworks}
    torch, torchvision = builds.get("torch"), builds.get("torchvision")
    if torch is not None and torchvision is not None:
        yield from _vision(say, context, torch, torchvision)
    if torch is not None:
        yield from _twice(say, context, torch)


def _vision(say: Voice, context: CheckContext, torch: FrameworkBuild, vision: FrameworkBuild) -> Iterator[Finding]:
    fitting = torchvision_for(torch.version)
    if fitting and minor(vision.version) != fitting:
        yield say.error(
            f"{named(vision)} does not belong to {named(torch)}: its operators will not load",
            evidence=_wanted(vision),
            expected=f"torchvision {fitting}",
            observed=f"torchvision {vision.version}",
            remedy=fitting_pair(context, torch),
            verify=_show(torch, vision),
        )
    elif torch.known and vision.known and major(torch.cuda or "") != major(vision.cuda or ""):
        yield say.error(
            f"torch was built for {_kind(torch)} and torchvision for {_kind(vision)}: they will not work together",
            expected=torch.version,
            observed=vision.version,
            remedy=fitting_pair(context, torch),
            verify=_show(torch, vision),
        )
    elif vision.wants_torch and vision.wants_torch != torch.version.partition("+")[0]:
        yield say.hint(
            f"{named(vision)} was made with torch {vision.wants_torch}, and torch {torch.version} is in place",
            evidence=_wanted(vision),
            verify=_show(torch, vision),
        )


def _wanted(vision: FrameworkBuild) -> tuple[str, ...]:
    wants = (f"its metadata wants torch=={vision.wants_torch}",) if vision.wants_torch else ()
    return (*wants, dated())


def _kind(build: FrameworkBuild) -> str:
    return f"CUDA {build.cuda}" if build.cuda else "the CPU"


def _show(*builds: FrameworkBuild) -> str:
    return show_text(*(build.source for build in builds if build.source is not None))


def _twice(say: Voice, context: CheckContext, torch: FrameworkBuild) -> Iterator[Finding]:
    claimants = _claimants(context.facts)
    if len(claimants) > 1:
        yield say.warning(
            f"{len(claimants)} installations claim torch's files: {' and '.join(claimants)}",
            evidence=(f"{torch.source} says {torch.version}",),
            expected="one torch",
            observed=", ".join(claimants),
            remedy=Remedy(text="remove both, then install one of them again"),
            verify=show_owner(context, "torch"),
        )


def _claimants(facts: Facts) -> tuple[str, ...]:
    """Who has put a torch there; conda's package and its own dist-info are one and the same."""
    found = [each for each in facts.distributions if each.name == "torch"]
    packages = [each for each in facts.conda.packages if each.name == "pytorch"] if facts.conda is not None else []
    of_conda = {package.version for package in packages}
    others = [each for each in found if each.installer != "conda" and each.version not in of_conda]
    rest = [each for each in found if each not in others]
    pips = [f"torch {each.version} ({each.installer or 'unknown installer'})" for each in others]
    own = [f"torch {each.version}" for each in rest] if not packages else []
    return (*(f"conda's {package.dist}" for package in packages), *own, *pips)
