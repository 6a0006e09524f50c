from functools import cache

from fastinstall.core.directories import recipes_directory
from fastinstall.doctor.checks.advisories import FEATURES, JPEG
from fastinstall.model.advisories import Advisory, Severity, select_applicable_advisories, select_library_advisories
from fastinstall.model.recipe import Recipe
from fastinstall.observe.recipes import load_recipe, load_recipes
from fastinstall.setup.decide.risks import find_vulnerability_risk

SHIPPED = recipes_directory()
DEFECTS = {
    "fastinstall-pillow-simd-i16-filter",
    "fastinstall-pillow-simd-blur-thin-image",
    "fastinstall-pillow-simd-blur-one-axis",
}


@cache
def fork() -> Recipe:
    return load_recipe("pillow-simd", (SHIPPED,))


def defects(version: str, *, kernels: bool = True) -> set[str]:
    return {
        each.id
        for each in select_applicable_advisories(fork().advisories, version, kernels=kernels)
        if each.kernels_only
    }


def test_only_the_forks_recipe_knows_its_three_kernel_defects() -> None:
    known = {name: recipe.advisories for name, recipe in load_recipes((SHIPPED,)).items()}
    found = {name: {each.id for each in advisories if each.kernels_only} for name, advisories in known.items()}
    assert found == {"pillow": set(), "pillow-fast": set(), "pillow-simd": DEFECTS}


def test_the_fork_has_its_defects_and_no_later_version_has_them() -> None:
    assert defects("12.1.1.post0") == DEFECTS
    assert defects("12.1.1", kernels=False) == set()
    assert defects("12.2.0") == defects("13.0.0") == set()


def test_a_defect_starts_with_the_pillow_that_has_the_operation() -> None:
    assert defects("10.4.0.post0") == DEFECTS - {"fastinstall-pillow-simd-i16-filter"}
    assert defects("10.0.1.post0") == {"fastinstall-pillow-simd-blur-thin-image"}


def test_each_defect_is_demonstrated_by_one_line_of_python() -> None:
    for each in _with(DEFECTS):
        compile(each.demonstration, each.id, "exec")
        assert "\n" not in each.demonstration
        assert "'" not in each.demonstration, "quoting it for a shell would not be readable"


def test_the_fork_is_a_risk_and_the_newest_pillow_is_none() -> None:
    plan_risk = find_vulnerability_risk(fork(), "12.1.1.post0", kernels=True)
    assert plan_risk is not None
    assert len(plan_risk.items) == 2
    assert find_vulnerability_risk(load_recipe("pillow-fast", (SHIPPED,)), "13.0.0", kernels=True) is None


def test_libraries_are_named_as_they_can_be_observed() -> None:
    assert {each.component for each in fork().advisories} <= {"", JPEG, *FEATURES}


def test_only_older_wheels_have_libraries_known_to_be_vulnerable() -> None:
    newest = {JPEG: "3.2.0", "libtiff": "4.7.2", "libwebp": "1.6.0", "freetype": "2.14.3", "openjpeg": "2.5.4"}
    older = {JPEG: "3.1.3", "libtiff": "4.7.1", "libwebp": "1.6.0", "freetype": "2.14.1", "openjpeg": "2.5.4"}
    assert select_library_advisories(fork().advisories, newest) == ()
    found = select_library_advisories(fork().advisories, older)
    assert [(each.id, each.severity) for each in found] == [
        ("CVE-2026-4775", Severity.HIGH),
        ("CVE-2026-23865", Severity.MODERATE),
    ]


def test_no_advisory_stands_in_two_files() -> None:
    for recipe in load_recipes((SHIPPED,)).values():
        names = [name for each in recipe.advisories for name in (each.id, *each.aliases)]
        assert len(names) == len(set(names))


def test_every_advisory_says_where_it_comes_from() -> None:
    assert all(each.source.startswith(("https://", "measured on ")) for each in fork().advisories)


def _with(names: set[str]) -> list[Advisory]:
    return [each for each in fork().advisories if each.id in names]
