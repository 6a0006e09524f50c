"""Which paths a package installs."""

import json

import pytest

from fastinstall.conda.engines.linked_records import resolve_linked_paths
from fastinstall.core.errors import FailedError

PATHS = json.dumps(
    {"paths": [{"_path": path} for path in ("site-packages/tool/a.py", "site-packages/x.pth", "python-scripts/t")]}
)
LINK = json.dumps({"noarch": {"type": "python", "entry_points": ["tool = tool.a:main"]}})


def test_a_package_for_one_platform_brings_what_it_names() -> None:
    assert resolve_linked_paths(json.dumps({"paths": [{"_path": "lib/a.so"}]}), "", "3.11") == ("lib/a.so",)
    assert resolve_linked_paths('{"paths": []}', '{"noarch": {"type": "generic"}}', "") == ()


def test_a_noarch_package_is_mapped_to_the_environments_python() -> None:
    assert resolve_linked_paths(PATHS, LINK, "3.11") == (
        "lib/python3.11/site-packages/tool/a.py",
        "lib/python3.11/site-packages/x.pth",
        "bin/t",
        "bin/tool",
        "lib/python3.11/site-packages/tool/__pycache__/a.cpython-311.pyc",
    )


def test_a_noarch_package_is_mapped_to_a_free_threaded_python() -> None:
    paths = resolve_linked_paths(PATHS, LINK, "3.14t")
    assert "lib/python3.14t/site-packages/x.pth" in paths
    assert "lib/python3.14t/site-packages/tool/__pycache__/a.cpython-314.pyc" in paths


def test_a_noarch_package_needs_a_python() -> None:
    with pytest.raises(FailedError, match="no Python"):
        resolve_linked_paths(PATHS, LINK, "")


def test_a_damaged_list_is_named() -> None:
    with pytest.raises(FailedError, match="cannot be read"):
        resolve_linked_paths("{", "", "3.11")


@pytest.mark.parametrize("shape", [None, True, 5, 1.5, "text", [], [None], [{}], {"type": "python", "entry_points": 5}])
def test_a_list_with_another_type_of_value_is_damaged(shape: object) -> None:
    for paths, link in (
        ({"paths": []}, {"noarch": shape}),
        *((shape, {}), ({"paths": shape}, {}), ({"paths": []}, shape)),
    ):
        try:
            listed = resolve_linked_paths(json.dumps(paths), json.dumps(link), "3.11")
        except FailedError:
            continue
        assert listed == ()
