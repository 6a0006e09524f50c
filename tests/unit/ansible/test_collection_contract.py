import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.ansible.collection_parts import COLLECTION, MODULES, part, read_yaml
from support.ansible.needs import require_ansible

from fastinstall import __version__
from fastinstall.cli.options import REQUEST_OPTIONS as OPTIONS
from fastinstall.cli.options import Option
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import LinkMode, Request, Risk, ToolchainSource

REQUEST_OPTIONS = part("request_options").REQUEST_OPTIONS
CHOICES: Mapping[str, list[str]] = {
    "link": [each.value for each in LinkMode],
    "dist_name": ["pillow", "pillow-simd"],
    "toolchain": [each.value for each in ToolchainSource],
    "engine": [each.value for each in CondaInstaller],
    "allow": [each.value for each in Risk],
}


def test_command_line_requests_and_module_parameters_correspond() -> None:
    assert {option.field: option.flag for option in OPTIONS} == {
        name: flag for name, (flag, _) in REQUEST_OPTIONS.items()
    }


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.field)
def test_a_parameter_has_default_and_choices_of_its_wish(option: Option) -> None:
    _, specification = REQUEST_OPTIONS[option.field]
    usual = getattr(Request(), option.field)
    assert specification.get("default") == (list(usual) if isinstance(usual, tuple) else usual)
    assert specification.get("choices", []) == CHOICES.get(option.field, [])


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.field)
def test_the_flag_of_a_parameter_is_read_back_as_the_given_value(option: Option) -> None:
    _, specification = REQUEST_OPTIONS[option.field]
    given = _other_than_default(specification)
    words = part("request_options").words_of({**_defaults(), option.field: given})
    assert words[0] == option.flag
    if specification["type"] == "bool":
        assert words == [option.flag]
        assert given is not getattr(Request(), option.field)
    else:
        read = option.read(words[1])
        assert (list(read) if isinstance(read, tuple) else str(read)) == (
            given if isinstance(given, list) else str(given)
        )


def test_defaults_are_left_to_the_settings_of_the_machine() -> None:
    assert part("request_options").words_of(_defaults()) == []


@pytest.mark.parametrize("name", MODULES)
def test_the_documentation_of_a_module_matches_its_parameters(name: str, built: dict[str, dict[str, Any]]) -> None:
    documented = _documented(name)
    specified = built[name]["argument_spec"]
    assert set(documented) == set(specified)
    for parameter, specification in specified.items():
        told = {key: documented[parameter].get(key) for key in ("type", "default", "choices", "elements")}
        assert told == {key: specification.get(key) for key in told}, parameter


@pytest.mark.parametrize("file", sorted(COLLECTION.rglob("*.py")), ids=lambda file: file.name)
def test_what_runs_on_a_host_is_understood_by_python_38(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize(
    "file", sorted((COLLECTION / "plugins" / "module_utils").glob("*.py")), ids=lambda file: file.stem
)
def test_what_runs_on_a_host_needs_no_other_package(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = {name for node in tree.body for name in _imported(node)}
    assert named <= {*sys.stdlib_module_names, "ansible"}


def test_the_collection_has_the_version_of_fastinstall() -> None:
    assert read_yaml((COLLECTION / "galaxy.yml").read_text(encoding="utf-8"))["version"] == __version__


def test_all_modules_are_in_the_action_group_they_document() -> None:
    runtime = read_yaml((COLLECTION / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert set(MODULES) <= set(runtime["action_groups"]["stack"])
    for name in MODULES:
        group = read_yaml(_constant(name, "DOCUMENTATION"))["attributes"]["action_group"]
        assert group["membership"] == ["fastinstall.stack.stack"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Return the argument specification of each module, by name.

    A stand-in for AnsibleModule records it; Ansible's own class would read stdin.
    """
    require_ansible(Path(sys.executable))
    root = tmp_path_factory.mktemp("collections")
    place = root / "ansible_collections" / "fastinstall"
    place.mkdir(parents=True)
    (place / "stack").symlink_to(COLLECTION)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        yield {name: _asked_of_ansible(name, patch) for name in MODULES}


def _asked_of_ansible(name: str, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = __import__(f"ansible_collections.fastinstall.stack.plugins.modules.{name}", fromlist=["main"])
    seen: dict[str, Any] = {}
    patch.setattr(module, "AnsibleModule", lambda **words: seen.update(words) or SimpleNamespace(**words))
    patch.setattr(module, "conclude", lambda *_: None)
    module.main()
    return seen


def _documented(name: str) -> dict[str, Any]:
    fragment = (COLLECTION / "plugins" / "doc_fragments" / "tool.py").read_text(encoding="utf-8")
    shared = next(
        node.value.value
        for node in ast.walk(ast.parse(fragment))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    )
    own = read_yaml(_constant(name, "DOCUMENTATION"))["options"]
    return {**read_yaml(str(shared))["options"], **own}


def _constant(name: str, constant: str) -> str:
    tree = ast.parse((COLLECTION / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8"))
    assigned = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return str(assigned[constant])


def _imported(node: ast.stmt) -> list[str]:
    """Return the top-level packages that a statement imports; relative imports are left out."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [str(node.module).partition(".")[0]]
    return []


def _defaults() -> dict[str, Any]:
    return {name: specification.get("default") for name, (_, specification) in REQUEST_OPTIONS.items()}


def _other_than_default(specification: Mapping[str, Any]) -> Any:
    if specification["type"] == "bool":
        return not specification["default"]
    choices = [each for each in specification.get("choices", []) if each != specification.get("default")]
    usual = {"int": 3, "path": str(COLLECTION), "list": choices[:2] or ["one", "two"], "str": "word"}
    return choices[0] if choices and specification["type"] == "str" else usual[specification["type"]]
