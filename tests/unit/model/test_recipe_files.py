from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.elf.cpu import list_level_features
from fastinstall.model.advisories import Severity, count_by_severity, select_applicable_advisories
from fastinstall.model.recipe import LIBRARIES, PROVIDERS
from fastinstall.model.request import DIST_NAMES
from fastinstall.observe.recipes import load_recipe, load_recipe_file, load_recipes
from fastinstall.proof.cases import operation_of
from fastinstall.proof.matrix_cases import matrix_cases

SHIPPED = recipes_directory()


def _copy(directory: Path, name: str, change: tuple[str, str] = ("", "")) -> Path:
    text = (SHIPPED / f"{name}.toml").read_text(encoding="utf-8")
    file = directory / f"{name}.toml"
    file.write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    return file


def test_the_shipped_recipes_are_right_and_share_advisories() -> None:
    recipes = load_recipes((SHIPPED,))
    assert list(recipes) == ["pillow", "pillow-fast", "pillow-simd"]
    stock, simd = recipes["pillow"], recipes["pillow-simd"]
    assert set(stock.advisories) < set(simd.advisories)
    assert all(advisory.kernels_only for advisory in set(simd.advisories) - set(stock.advisories))
    assert stock.libraries == simd.libraries
    assert stock.list_levels(X86_64.machine) == simd.levels


def test_an_arm_level_is_as_exact_as_the_official_arm_wheel() -> None:
    recipes = load_recipes((SHIPPED,))
    for name in ("pillow", "pillow-fast"):
        (level,) = recipes[name].list_levels(AARCH64.machine)
        assert level.name == AARCH64.levels[0].name
        assert level.requires == AARCH64.levels[0].requires
        assert level.cflags[-1] == "-ffp-contract=on"
    assert not recipes["pillow-simd"].list_levels(AARCH64.machine)


def test_the_recommended_recipe_has_stock_levels_and_libraries() -> None:
    recipes = load_recipes((SHIPPED,))
    fast, stock = recipes["pillow-fast"], recipes["pillow"]
    assert [name for name, recipe in recipes.items() if recipe.recommended] == ["pillow-fast"]
    assert [level.name for level in fast.levels] == [level.name for level in stock.levels]
    assert fast.libraries == stock.libraries


def test_what_our_own_code_builds_is_exact_and_the_fork_is_not() -> None:
    exact = {name: recipe.is_exact for name, recipe in load_recipes((SHIPPED,)).items()}
    assert exact == {"pillow": True, "pillow-fast": True, "pillow-simd": False}


def test_kernels_speak_of_operations_that_are_proven() -> None:
    proven = {operation_of(case) for case in matrix_cases()} | {"decode-jpeg", "decode-png", "round-trip-png"}
    named = {operation for kernel in load_recipe("pillow-fast", (SHIPPED,)).kernels for operation in kernel.operations}
    assert [name for name in named if not any(each.startswith(name) for each in proven)] == []


def test_the_levels_ask_for_every_feature_that_the_psabi_names() -> None:
    levels = {level.name: set(level.requires) for level in load_recipe("pillow-simd", (SHIPPED,)).levels}
    baseline = set(list_level_features("x86-64-v1"))
    for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        assert levels[name] == set(list_level_features(name)) - baseline


def test_a_12_1_1_fork_has_every_advisory_since_and_13_0_0_none() -> None:
    recipe = load_recipe("pillow-simd", (SHIPPED,))
    known = select_applicable_advisories(recipe.advisories, "12.1.1.post0")
    assert count_by_severity(known)[Severity.CRITICAL] == 2
    assert sum(advisory.id.startswith("CVE-") for advisory in known) == 28
    assert select_applicable_advisories(recipe.advisories, "13.0.0") == ()


def test_the_first_directory_wins_and_may_use_shipped_advisories(tmp_path: Path) -> None:
    _copy(tmp_path, "pillow", ('summary = "stock', 'summary = "my own'))
    recipe = load_recipe("pillow", (tmp_path, SHIPPED))
    assert recipe.summary.startswith("my own")
    assert recipe.advisories == load_recipe("pillow", (SHIPPED,)).advisories
    assert load_recipes((SHIPPED, tmp_path))["pillow"].summary.startswith("stock")


def test_an_unknown_recipe_is_refused_with_nearest_and_all_known(golden: Golden) -> None:
    with pytest.raises(UsageError, match="no recipe is named 'pillow-smid'") as caught:
        load_recipe("pillow-smid", (SHIPPED,))
    golden(caught.value.hint)


def test_a_malformed_recipe_is_refused_with_its_file(tmp_path: Path) -> None:
    file = _copy(tmp_path, "pillow", ("schema = 1", "schema = 7"))
    with pytest.raises(DocumentError, match="schema: expected 1, found 7") as caught:
        load_recipes((tmp_path, SHIPPED))
    assert caught.value.file == file


def test_a_malformed_recipe_does_not_stop_another(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("=", encoding="utf-8")
    assert load_recipe("pillow", (tmp_path, SHIPPED)).name == "pillow"


def test_missing_shared_advisories_are_refused(tmp_path: Path) -> None:
    _copy(tmp_path, "pillow")
    with pytest.raises(DocumentError, match=r"advisories/pillow\.toml") as caught:
        load_recipe("pillow", (tmp_path,))
    assert caught.value.key == "advisories_from[0]"


def test_a_recipe_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_bytes(b"name = \xff")
    with pytest.raises(DocumentError, match=r"odd\.toml: not UTF-8: byte 7"):
        load_recipe("odd", (tmp_path, SHIPPED))


def test_a_recipe_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match=r"folder\.toml: .*Is a directory"):
        load_recipe("folder", (tmp_path, SHIPPED))


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory of recipes"):
        load_recipes((tmp_path / "absent", SHIPPED))


def test_a_single_file_is_read_wherever_it_lies(tmp_path: Path) -> None:
    assert load_recipe_file(_copy(tmp_path, "pillow-simd")) == load_recipe("pillow-simd", (SHIPPED,))


def test_a_single_file_that_is_absent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml: .*No such file"):
        load_recipe_file(tmp_path / "absent.toml")


def test_names_that_recipes_replace_are_known_without_a_recipe() -> None:
    replaced = {name for recipe in load_recipes((SHIPPED,)).values() for name in recipe.replaces}
    assert set(PROVIDERS) == replaced
    assert set(DIST_NAMES) <= replaced
    assert set(LIBRARIES) == {f"{name.replace('-', '_')}.libs" for name in DIST_NAMES}
