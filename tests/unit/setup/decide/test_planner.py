"""Each file of tests/cases/plans: observed facts and a request, and the resulting plan or refusal.

Keys of the situation:
- `describes`: what the case shows.
- `base`: the environment (stock, healthy, empty, conda, conda-of-old, conda-healthy).
- `facts`, `recipe`, `releases`, `request`: changes of the base, in the form of `builders.changed`.
- `create`, `restoring` (content of the base's receipt), `preview` (changes that a solver would make: "NAME VERSION
  BUILD"): as in `Situation`.
- `cached`: the hash of a cached wheel that equals the wheel to build.
- `solver_request`: the request that the solver must get; null if it must get none.

Keys of an expected plan:
- `steps`: all steps, in order; the given fields must match.
- `skipped`: all skipped steps, by name, or with words of each reason.
- `risks`: all risks; the given fields must match.
- `warnings`: their number, or words of each.
- `summary`: words of the summary.

Key of an expected refusal: `refusal`, words of its message and hint, and its error.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import (
    changed,
    conda_facts,
    conda_package,
    conda_receipt,
    empty_facts,
    environment,
    healthy_conda_facts,
    healthy_facts,
    old_conda_facts,
    receipt,
    recipe,
    request,
    stock_facts,
)
from support.values.plans import PARTS, plan_of

from fastinstall.core.codec import encode
from fastinstall.core.errors import FastinstallError
from fastinstall.index.header_packages import read_header_packages
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.conda import CondaChange
from fastinstall.model.facts import Facts
from fastinstall.setup.decide.build import complete_build, make_build_step
from fastinstall.setup.decide.conda import make_conda_request
from fastinstall.setup.decide.nothing_to_do import plan_nothing
from fastinstall.setup.decide.planner import decide
from fastinstall.setup.plan import Plan, Situation, compute_facts_digest
from fastinstall.setup.steps.create_environment import CreateEnvironment

CASES = sorted((Path(__file__).parents[3] / "cases" / "plans").glob("*.json"))
BASES: dict[str, Callable[[], Facts]] = {
    "stock": stock_facts,
    "healthy": healthy_facts,
    "empty": empty_facts,
    "conda": conda_facts,
    "conda-of-old": old_conda_facts,
    "conda-healthy": healthy_conda_facts,
}
MICROARCHITECTURES: dict[str, tuple[str, ...]] = {"x86-64-v3": ("x86_64_v3", "haswell", "zen3")}
OF_TARGET = {"facts", "create", "restoring", "preview", "cached"}
KEYS = {"describes", "base", "recipe", "releases", "request", "solver_request"} | OF_TARGET
PLAN = {"steps", "skipped", "risks", "warnings", "summary"}
CREATE = CreateEnvironment(
    prefix=environment().prefix,
    python=Path("/usr/local/bin/python3.11"),
    reason="requested by --new-env",
)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_situation_leads_to_this_plan_or_this_refusal(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    assert case["describes"]
    assert set(case) <= KEYS | ({"refusal"} if "refusal" in case else PLAN)
    if "solver_request" in case:
        decision = complete_build(decide(_situation(case)), case.get("cached", ""))
        asked = make_conda_request(_situation(case), make_build_step(decision))
        assert asked is case["solver_request"] or _fits(encode(asked), case["solver_request"]), asked
    if "refusal" in case:
        _refuses(case)
    else:
        made = plan_of(_situation(case), case.get("cached", ""))
        _plans(case, made)


def test_every_step_skip_and_risk_says_why() -> None:
    for path in CASES:
        case = json.loads(path.read_text("utf-8"))
        if "refusal" in case:
            continue
        made = plan_of(_situation(case), case.get("cached", ""))
        assert all(step.reason for step in made.steps), path.stem
        assert all(skip.reason for skip in made.skipped), path.stem
        assert all(plan_risk.summary for plan_risk in made.risks), path.stem


def test_a_downgrade_says_how_many_advisories_it_brings_back(golden: Golden) -> None:
    case = {"facts": {"stack": {"version": "13.0.0"}}}
    advisory = {"id": "CVE-2026-1", "severity": "high", "affects": "<13.0.0", "summary": "something."}
    known = {**advisory, "source": "https://pillow.readthedocs.io/", "dated": "2026-11-21"}
    harmless, worse = (plan_of(_situation({**case, "recipe": {"advisories": each}})) for each in ([], [known]))
    golden(harmless.risks[0].summary, "harmless")
    golden(worse.risks[0].summary, "worse")


def test_equal_situations_give_equal_plans_with_the_facts_digest() -> None:
    situation = _situation({})
    assert plan_of(situation) == plan_of(situation)
    assert plan_of(situation).facts_digest == compute_facts_digest(situation.facts)


def test_a_healthy_environment_has_an_empty_plan(golden: Golden) -> None:
    made = plan_nothing(healthy_facts(), recipe(), request(), receipt())
    assert made is not None
    assert made.steps == ()
    golden(made.skipped[0].reason, "skipped")
    golden(made.summary, "summary")


SHADOWS = {"interpreter": {"shadows": [{"location": "/srv/x/PIL.py", "source": "PYTHONPATH", "entry": "/srv/x"}]}}


def test_a_plan_warns_of_another_pil_that_will_hide_its_own(golden: Golden) -> None:
    (warning,) = plan_of(_situation({"facts": SHADOWS})).warnings
    golden(warning)
    made = plan_nothing(changed(healthy_facts(), SHADOWS), recipe(), request(), receipt())
    assert made is not None
    assert made.warnings == (warning,)
    golden(made.summary, "summary")


def test_a_pil_in_the_working_directory_does_not_concern_a_plan() -> None:
    here = {"location": "/srv/x/PIL.py", "source": "working-directory", "entry": "/srv/x"}
    assert plan_of(_situation({"facts": {"interpreter": {"shadows": [here]}}})).warnings == ()


def test_where_something_is_to_be_done_there_is_no_empty_plan() -> None:
    assert plan_nothing(stock_facts(), recipe(), request(), None) is None
    assert plan_nothing(stock_facts(), recipe(), request(), receipt()) is None


def test_an_upgrade_without_anything_later_has_nothing_to_do() -> None:
    made = plan_of(replace(_situation({"base": "healthy", "request": {"upgrade": True}}), receipt=receipt()))
    assert made.steps == ()
    assert made.summary.startswith("nothing to do")


def test_an_upgrade_to_a_later_version_has() -> None:
    older = replace(receipt(), version="12.0.0+simd.v3")
    made = plan_of(replace(_situation({"base": "healthy", "request": {"upgrade": True}}), receipt=older))
    assert made.build is not None


def test_a_restore_keeps_the_receipts_version_levels_and_request() -> None:
    older = replace(receipt(), source_version="11.3.0.post0", version="11.3.0+simd.v2", levels=("x86-64-v2",))
    made = plan_of(replace(_situation({"restoring": True}), receipt=older))
    assert made.summary.startswith(f"Put {older.distribution} ")
    build = made.build
    assert build is not None
    assert (build.version, build.levels) == ("11.3.0+simd.v2", ("x86-64-v2",))
    assert made.request == request()
    assert [(plan_risk.risk, plan_risk.allowed) for plan_risk in made.risks] == [("downgrade", True)]


def test_a_build_beyond_this_cpu_is_restored_at_levels_that_run() -> None:
    stronger = replace(receipt(), version="12.1.1+simd.v4", levels=("x86-64-v4",), request=request())
    flags = [flag for flag in healthy_facts().cpu.flags if not flag.startswith("avx512")]
    weaker = {"facts": {"cpu": {"flags": flags, "level": "x86-64-v3"}}}
    made = plan_of(replace(_situation({"restoring": True, **weaker}), receipt=stronger))
    build = made.build
    assert build is not None
    assert "x86-64-v4" not in build.levels


def test_a_foreign_build_whose_wheel_is_gone_uses_its_source() -> None:
    foreign = replace(receipt(), source_version="12.1.1+simd.v3")
    made = plan_of(replace(_situation({"restoring": True}), receipt=foreign))
    build = made.build
    assert build is not None
    assert (build.version, build.source is not None) == ("12.1.1+simd.v3", True)


def test_a_protected_environment_is_refused_even_with_no_work() -> None:
    frozen = changed(healthy_facts(), {"frozen": "/srv/images/env/conda-meta/frozen"})
    with pytest.raises(FastinstallError, match="frozen"):
        plan_nothing(frozen, recipe(), request(), receipt())


def test_as_many_jobs_as_the_control_group_grants() -> None:
    for quota, cores, jobs in ((None, 8, 8), (2.0, 8, 2), (0.5, 8, 1), (16.0, 4, 4)):
        made = plan_of(_situation({"facts": {"cpu": {"cores": cores, "quota": quota}}}))
        assert made.build is not None
        assert made.build.jobs == jobs


def test_fetched_headers_get_the_macro_of_a_free_threaded_python() -> None:
    for has_headers in (True, False):
        python = {"abi": "cp311t", "free_threaded": True, "has_headers": has_headers}
        build = plan_of(_situation({"facts": {"interpreter": python}})).build
        assert build is not None
        assert all(("-DPy_GIL_DISABLED=1" in target.cflags) is not has_headers for target in build.targets)


def test_only_a_remote_file_without_a_hash_is_warned_about() -> None:
    case: dict[str, Any] = {}
    situation = _situation(case)
    assert not [each for each in plan_of(situation).warnings if "SHA-256" in each]
    bare = tuple(replace(each, sha256="") for each in situation.releases.sources)
    releases = replace(situation.releases, sources=bare)
    (told,) = [each for each in plan_of(replace(situation, releases=releases)).warnings if "SHA-256" in each]
    assert "pillow_simd-12.1.1.post0.tar.gz" in told
    local = tuple(replace(each, url=f"file:///srv/{each.filename}") for each in bare)
    at_hand = replace(situation, releases=replace(releases, sources=local))
    assert not [each for each in plan_of(at_hand).warnings if "SHA-256" in each]


def _situation(case: dict[str, Any]) -> Situation:
    asked, releases = changed(request(), case.get("request", {})), changed(_releases(), case.get("releases", {}))
    return Situation(
        facts=changed(_base(case.get("base", "stock")), case.get("facts", {})),
        recipe=changed(recipe(), case.get("recipe", {})),
        request=asked,
        releases=replace(releases, headers={}) if asked.offline else releases,
        receipt=conda_receipt() if case.get("base") == "conda-healthy" else None,
        preview=_preview(case["preview"]) if "preview" in case else None,
        microarchitectures=MICROARCHITECTURES,
        create=CREATE if case.get("create") else None,
        restoring=case.get("restoring", False),
    )


@cache
def _base(name: str) -> Facts:
    return BASES[name]()


def _preview(case: dict[str, list[str]]) -> CondaChange:
    come, go = (tuple(map(conda_package, case.get(side, ()))) for side in ("linked", "unlinked"))
    return CondaChange(linked=come, unlinked=go)


def _releases() -> Releases:
    return Releases(
        sources=(_source("12.1.1.post0", ">=3.10"), _source("11.3.0.post0", ">=3.9")),
        wheels=(_wheel("13.0.0"), _wheel("12.1.1"), _wheel("11.3.0")),
        headers=read_header_packages().artefacts(),
        origin="the package index",
    )


def _source(version: str, requires_python: str) -> Artefact:
    name = f"pillow_simd-{version}.tar.gz"
    url = f"https://example.org/{name}"
    return Artefact(
        name="pillow-simd", version=version, filename=name, url=url, sha256="5d" * 32, requires_python=requires_python
    )


def _wheel(version: str) -> Artefact:
    name = f"pillow-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    return Artefact(name="pillow", version=version, filename=name, url=f"https://example.org/{name}", sha256="ee" * 32)


def _refuses(case: dict[str, Any]) -> None:
    wanted = case["refusal"]
    assert set(wanted) <= {"error", "message", "hint"}
    with pytest.raises(FastinstallError) as caught:
        plan_of(_situation(case), case.get("cached", ""))
    assert type(caught.value).__name__ == wanted["error"]
    assert wanted["message"] in caught.value.message
    assert wanted["hint"] in (caught.value.hint or "")


def _plans(case: dict[str, Any], made: Plan) -> None:
    parts = {name: part for name, part in encode(made).items() if name in PARTS and part}
    assert set(parts) == set(case["steps"])
    for name, wanted in case["steps"].items():
        assert _fits(parts[name], wanted), (name, parts[name], wanted)
    _skips(case.get("skipped", []), made)
    assert [plan_risk.risk for plan_risk in made.risks] == list(case.get("risks", {}))
    for plan_risk, wanted in zip(encode(made.risks), case.get("risks", {}).values(), strict=True):
        assert _fits(plan_risk, wanted), (plan_risk, wanted)
    _warns(case.get("warnings", 0), made)
    assert case.get("summary", "") in made.summary


def _skips(wanted: list[str] | dict[str, str], made: Plan) -> None:
    assert [skip.step for skip in made.skipped] == list(wanted)
    for skip in made.skipped:
        assert not isinstance(wanted, dict) or wanted[skip.step] in skip.reason, skip


def _warns(wanted: int | list[str], made: Plan) -> None:
    if isinstance(wanted, int):
        assert len(made.warnings) == wanted, made.warnings
        return
    assert len(made.warnings) == len(wanted), made.warnings
    for warning, words in zip(made.warnings, wanted, strict=True):
        assert words in warning


def _fits(found: Any, wanted: Any) -> bool:
    """Return True if all expected items are present; a sentence or dependency need only contain the expected part."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and (_fits(found[key], value) or _tells(key, found[key], value))
            for key, value in wanted.items()
        )
    if isinstance(wanted, list) and any(isinstance(item, dict) for item in wanted):
        return len(found) == len(wanted) and all(map(_fits, found, wanted))
    return bool(found == wanted)


def _tells(key: str, found: Any, wanted: Any) -> bool:
    if key == "depends":
        return all(any(words in spec for spec in found) for words in wanted)
    return key in {"reason", "summary"} and wanted in found
