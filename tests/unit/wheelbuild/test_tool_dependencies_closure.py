import pytest

from fastinstall.wheelbuild.tool_dependencies import Closure, ShelfWheel, find_closure, read_shelf_wheel

MACHINE = "x86_64"
PURE = "py3-none-any"


def _wheel(stem: str, *requires: str, tag: str = PURE) -> ShelfWheel:
    return read_shelf_wheel(f"{stem}-{tag}.whl", requires)


def _closure(root: ShelfWheel, *shelf: ShelfWheel, minor: str = "3.12") -> Closure:
    return find_closure(root, shelf, minor, MACHINE)


def test_the_closure_holds_transitive_dependencies_and_no_more() -> None:
    root, one, two = _wheel("tool-1", "one"), _wheel("one-1", "two>=1"), _wheel("two-1")

    found = _closure(root, one, two, _wheel("other-1"))

    assert found == Closure(used=("one-1-py3-none-any.whl", "tool-1-py3-none-any.whl", "two-1-py3-none-any.whl"))


def test_what_is_not_there_is_missing_as_it_was_asked_for() -> None:
    found = _closure(_wheel("tool-1", "one[fast]>=2,<3", "two"))

    assert found.missing == ("one[fast]<3,>=2", "two")


@pytest.mark.parametrize(("minor", "missing"), [("3.11", ("typing-extensions",)), ("3.13", ())])
def test_markers_are_those_of_the_wanted_python(minor: str, missing: tuple[str, ...]) -> None:
    root = _wheel("tool-1", 'typing-extensions; python_version < "3.13"', 'colorama; sys_platform == "win32"')

    assert _closure(root, minor=minor).missing == missing


def test_an_extra_brings_its_dependencies_only_when_requested() -> None:
    one = _wheel("one-1", 'two; extra == "fast"')

    assert _closure(_wheel("tool-1", "one[fast]"), one).missing == ("two",)
    assert _closure(_wheel("tool-1", "one"), one).missing == ()


def test_a_wheel_for_another_python_is_wanted_in_its_version() -> None:
    binary = _wheel("one-1.5", tag="cp311-cp311-manylinux_2_17_x86_64")

    assert _closure(_wheel("tool-1", "one>=1"), binary, minor="3.11").missing == ()
    assert _closure(_wheel("tool-1", "one>=1"), binary, minor="3.12").missing == ("one==1.5",)


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("cp310-abi3-manylinux2014_x86_64", True),
        ("cp312-cp312-manylinux_2_28_x86_64", True),
        ("cp312-cp312-manylinux_2_34_x86_64", False),
        ("cp312-cp312-manylinux_2_17_aarch64", False),
        ("cp312-cp312-musllinux_1_2_x86_64", False),
        ("cp313-abi3-manylinux2014_x86_64", False),
        ("py3-none-manylinux1_x86_64", True),
    ],
)
def test_a_wheel_fits_by_its_tags(tag: str, *, fits: bool) -> None:
    found = _closure(_wheel("tool-1", "one"), _wheel("one-1", tag=tag))

    assert (found.missing == ()) is fits


def test_circles_come_to_an_end() -> None:
    assert _closure(_wheel("tool-1", "one"), _wheel("one-1", "two"), _wheel("two-1", "one")).missing == ()


def test_another_machine_has_its_own_wheels_and_markers() -> None:
    root = _wheel("tool-1", "one", 'two; platform_machine == "x86_64"')
    ours, theirs = (_wheel("one-1", tag=f"cp312-cp312-manylinux_2_28_{each}") for each in ("x86_64", "aarch64"))
    found = find_closure(root, (ours, theirs), "3.12", "aarch64")
    assert found == Closure(used=(theirs.filename, root.filename), missing=())
