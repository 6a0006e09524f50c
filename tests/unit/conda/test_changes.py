import pytest
from support.suite.golden import Golden
from support.values.builders import conda_facts, conda_package

from fastinstall.conda.changes import (
    apply_conda_change,
    explain_change,
    find_change_risks,
    is_protected,
    list_package_changes,
)
from fastinstall.model.conda import CondaChange
from fastinstall.model.request import Risk


def change(*, come: tuple[str, ...] = (), go: tuple[str, ...] = ()) -> CondaChange:
    return CondaChange(linked=tuple(map(conda_package, come)), unlinked=tuple(map(conda_package, go)))


@pytest.mark.parametrize(
    "name",
    [
        *("python", "python_abi", "pypy3.9", "pytorch", "pytorch-cuda", "pytorch-mutex", "libtorch", "torchvision"),
        *("torchaudio", "cuda-version", "cuda-cudart", "cudatoolkit", "cudnn", "nccl", "nvidia-cublas", "libcublas"),
        *("libcufft", "libcurand", "libcusolver", "libcusparse", "libcudnn", "libnvjpeg", "libnpp", "cutensor"),
    ],
)
def test_python_torch_and_cuda_are_protected(name: str) -> None:
    assert is_protected(name)


@pytest.mark.parametrize(
    "name", ["libcurl", "libcups", "python-dateutil", "numpy", "libjpeg-turbo", "nvtop", "libtiff", "torrent"]
)
def test_what_sounds_like_them_is_not(name: str) -> None:
    assert not is_protected(name)


def test_a_change_without_risk_is_none_of_a_plan() -> None:
    assert find_change_risks(change(come=("a 2 h_0", "b 1 h_0"), go=("a 1 h_0",))) == ()
    assert find_change_risks(CondaChange()) == ()


def test_a_package_that_goes_with_nothing_in_its_place_is_a_risk() -> None:
    (plan_risk,) = find_change_risks(change(come=("a 2 h_0",), go=("a 1 h_0", "c 1 h_0")))
    assert plan_risk.risk is Risk.FORCE_REMOVE
    assert plan_risk.items == ("c: removed: 1",)


@pytest.mark.parametrize(("before", "after"), [("1.10", "1.9"), ("2", "2rc1"), ("9f", "9e"), ("9e", "9f")])
def test_a_version_that_is_older_or_cannot_be_compared_is_a_risk(before: str, after: str) -> None:
    (plan_risk,) = find_change_risks(change(come=(f"a {after} h_0",), go=(f"a {before} h_0",)))
    assert plan_risk.risk is Risk.DOWNGRADE


def test_another_build_of_a_version_is_no_downgrade() -> None:
    assert find_change_risks(change(come=("a 1 h_0",), go=("a 1 h_1",))) == ()


def test_many_are_named_in_part_and_listed_whole(golden: Golden) -> None:
    names = [f"cuda-{letter}" for letter in "abcdefg"]
    (plan_risk,) = find_change_risks(change(come=tuple(f"{name} 12 h_0" for name in names)))
    golden(plan_risk.summary)
    assert plan_risk.items == tuple(f"{name}: added: 12" for name in names)


def test_each_package_is_told_by_what_becomes_of_it(golden: Golden) -> None:
    told = change(come=("a 2 h_0", "b 1 h_1", "c 1 h_0", "d 1 h_0"), go=("a 1 h_0", "b 1 h_0", "c 1 h_0", "e 1 h_0"))
    golden("\n".join(each.words for each in list_package_changes(told)))


def test_what_goes_for_nothing_is_said_in_the_reason(golden: Golden) -> None:
    assert explain_change(change(come=("a 2 h_0",), go=("a 1 h_0",)), "why") == "why"
    golden(explain_change(change(go=("a 1 h_0",)), "why"), "one")
    golden(explain_change(change(go=("a 1 h_0", "b 1 h_0")), "why"), "two")


def test_afterwards_there_is_what_came_and_not_what_went() -> None:
    conda = conda_facts().conda
    assert conda is not None
    after = apply_conda_change(conda, change(come=("libtiff 4.8.0 h_0",), go=("libtiff 4.7.1 h_1", "zlib 1.3.1 h_2")))
    assert {package.name for package in conda.packages} - {package.name for package in after} == {"zlib"}
    assert [package.version for package in after if package.name == "libtiff"] == ["4.8.0"]
