import pytest
from support.values.builders import recipe

from fastinstall.model.recipe import ELSEWHERE, PACKAGE_MANAGERS, BuildNeeds, NativeRequirement

JPEG = recipe().libraries["jpeg"]
TIFF = NativeRequirement(header="tiffio.h", link="tiff", apk=("tiff-dev",), zypper=("libtiff-devel",))


def test_each_package_is_named_once() -> None:
    needs = BuildNeeds(libraries=(JPEG, JPEG), python="3.12", compiler=True)

    assert needs.list_packages("apt") == ("gcc", "libc6-dev", "python3.12-dev", *JPEG.apt)


@pytest.mark.parametrize("manager", PACKAGE_MANAGERS)
def test_every_package_manager_has_names_for_compiler_and_python(manager: str) -> None:
    assert len(BuildNeeds(python="3.12", compiler=True).list_packages(manager)) > 1


def test_a_hint_names_this_machines_command_and_an_alternative() -> None:
    hint = BuildNeeds(libraries=(TIFF,), python="3.11").explain("zypper", as_root="sudo ")

    assert hint.split("; or ") == ["sudo zypper install python311-devel libtiff-devel", ELSEWHERE]


def test_without_a_package_manager_the_other_way_remains() -> None:
    assert BuildNeeds(libraries=(TIFF,)).explain(None, as_root="sudo ") == ELSEWHERE
