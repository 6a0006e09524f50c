"""Check a saved plan, which may come from anybody, by planning anew from its request. Pure.

Before consent, the saved plan's downloads are listed (`list_fetched_artefacts`). Then another plan is made from its
request and the files that it names (`select_named_releases`). Both plans must agree (`plan.find_differences`), so a
saved plan cannot choose its own risks, warnings or steps. The person who applies the plan accepts the risks
(`allow_risks`).
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.codec import open_document
from fastinstall.core.errors import RefusedError
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.request import Risk
from fastinstall.setup.plan import Plan

PLAN_AGAIN = "make a new plan: fastinstall plan -o FILE"


def open_plan(data: object, file: PurePath) -> Plan:
    """Read a saved plan.

    Args:
        data: the parsed JSON of the plan.
        file: path of the plan, for error messages.

    Raises:
        DocumentError: the plan is malformed; the message names the file and the key.
    """
    return open_document(Plan, "plan", data, file=file)


def select_named_releases(plan: Plan | None, releases: Releases) -> Releases:
    """Return the releases that are not later than the files of a saved plan, so that later ones do not change the plan.

    Without a saved plan, return all releases.

    Raises:
        RefusedError: a file of the plan is not offered, or only with another hash.
    """
    if plan is None:
        return releases
    named = {(each.filename, each.sha256) for step in plan.steps for each in step.list_artefacts()}
    seen = set[tuple[str, str]]()

    def drop_later(offered: tuple[Artefact, ...]) -> tuple[Artefact, ...]:
        seen.update((each.filename, each.sha256) for each in offered)
        taken = [parse_version_number(each.version) for each in offered if (each.filename, each.sha256) in named]
        return tuple(each for each in offered if taken and parse_version_number(each.version) <= max(taken))

    seen.update((each.filename, each.sha256) for each in releases.headers.values())
    found = replace(
        releases,
        sources=drop_later(releases.sources),
        wheels=drop_later(releases.wheels),
        statics={name: drop_later(offered) for name, offered in releases.statics.items()},
        compilers=drop_later(releases.compilers),
        prebuilt=drop_later(releases.prebuilt),
    )
    for filename, sha256 in sorted(named - seen):
        raise RefusedError(
            f"{releases.origin} has no {filename} with sha256 {sha256 or 'unknown'}, which the plan names",
            hint=PLAN_AGAIN,
        )
    return found


def allow_risks(plan: Plan, allowed: Iterable[Risk]) -> Plan:
    """Return the plan with exactly these risks accepted; risks that the plan itself marks as allowed do not count."""
    names = tuple(allowed)
    risks = tuple(replace(plan_risk, allowed=plan_risk.risk in names) for plan_risk in plan.risks)
    return replace(plan, risks=risks, request=replace(plan.request, allow=names))


def list_fetched_artefacts(plan: Plan) -> tuple[str, ...]:
    """Return a line for each file that applying a plan would fetch, with its address and required hash."""
    lines: list[str] = []
    for step in plan.steps:
        lines += (
            f"fetch {each.filename} from {each.url} sha256 {each.sha256 or 'unknown'}" for each in step.list_artefacts()
        )
        lines += (f"fetch {each.dist} from {each.url or each.channel}" for each in step.list_conda_packages())
    return tuple(dict.fromkeys(lines))
