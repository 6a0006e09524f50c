"""Drivers, CUDA versions, GPUs and builds against each other, by the dated tables."""

from itertools import pairwise

import pytest

from fastinstall.doctor.cuda_compatibility import (
    FIRST_DRIVERS,
    MINIMUM_DRIVERS,
    TORCH_BUILDS,
    architectures_of,
    choose_torch_build,
    covers,
    dali_wheel,
    find_required_driver,
    is_left_behind,
    numbers,
    nvimgcodec_wheel,
    serves,
    torchvision_for,
)
from fastinstall.model.machine import FrameworkBuild, Gpu, GpuDevice


def with_driver(version: str, *capabilities: str, offers: str = "", wsl: bool = False) -> Gpu:
    devices = tuple(GpuDevice(name="a GPU", capability=capability) for capability in capabilities)
    return Gpu(driver=version, driver_cuda=offers, devices=devices, nodes=True, wsl=wsl)


def torch(version: str, cuda: str | None) -> FrameworkBuild:
    return FrameworkBuild(name="torch", version=version, cuda=cuda)


def test_versions_of_drivers_are_compared_by_their_numbers() -> None:
    assert numbers("550.120") > numbers("550.54.15")
    assert numbers("535.104.05") > numbers("535.54.03")
    assert numbers("2.10.0+cu128") == (2, 10, 0)
    assert numbers("unknown") == ()


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("13.2", "580.65.06"),
        ("12.8", "525.60.13"),
        ("12", "525.60.13"),
        ("11.8", "450.80.02"),
        ("11.0", "450.36.06"),
        ("10.2", "440.33"),
        ("9.0", "384.81"),
        ("14.0", ""),
        ("7.5", ""),
    ],
)
def test_each_cuda_has_the_driver_that_nvidia_names(cuda: str, driver: str) -> None:
    assert find_required_driver(cuda) == driver


@pytest.mark.parametrize(
    ("driver", "cuda", "served"),
    [
        ("580.65.06", "13.2", True),
        ("580.65.05", "13.0", False),
        ("525.60.13", "12.9", True),
        ("520.61.05", "12.0", False),
        ("450.80.02", "11.8", True),
        ("440.33", "10.2", True),
        ("440.33.01", "10.2", True),
        ("430.50", "10.2", False),
        ("610.43.02", "11.8", True),
        ("650.10", "14.0", None),
        ("", "12.6", None),
    ],
)
def test_a_driver_serves_a_cuda_or_not_or_nobody_knows(driver: str, cuda: str, served: bool | None) -> None:  # noqa: FBT001 (a row)
    assert serves(with_driver(driver), cuda) is served


def test_what_nvml_says_of_the_driver_counts_more_than_the_table() -> None:
    assert serves(with_driver("650.10", offers="14.0"), "14.1") is True
    assert serves(with_driver("440.10", offers="10.2"), "10.2") is True
    assert serves(with_driver("470.86", offers="11.4"), "12.0") is False


def test_windows_drivers_have_the_same_branches_and_other_numbers() -> None:
    assert serves(with_driver("580.10", wsl=True), "13.0") is True
    assert serves(with_driver("580.10"), "13.0") is False
    assert serves(with_driver("576.57", wsl=True), "13.0") is False


def test_a_tegra_is_not_judged_by_its_driver() -> None:
    assert serves(Gpu(driver="35.2.1", tegra=True), "11.4") is None


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (("8.0", "8.6"), "8.9", True),
        (("8.6",), "8.0", False),
        (("7.0",), "7.5", True),
        (("9.0",), "10.0", False),
        (("9.0+PTX",), "10.0", True),
        (("12.0+PTX",), "10.0", False),
        (("10.0", "12.0"), "12.1", True),
        (("10.0",), "9.0", False),
    ],
)
def test_code_runs_within_its_major_version_and_ptx_on_later_gpus(
    architectures: tuple[str, ...],
    capability: str,
    runs: bool,  # noqa: FBT001 (a row)
) -> None:
    assert covers(architectures, capability) is runs


def test_cuda_13_has_left_volta_behind_and_not_turing() -> None:
    assert is_left_behind("13.0", "7.0")
    assert not is_left_behind("13.0", "7.5")
    assert not is_left_behind("12.9", "5.2")
    assert not is_left_behind("14.0", "5.2")


def test_only_published_wheels_are_judged_by_the_list_of_published_wheels() -> None:
    assert architectures_of(torch("2.10.0+cu128", "12.8"))[0] == "7.0"
    assert architectures_of(torch("2.11.0+cu128", "12.8"))[0] == "7.5"
    assert architectures_of(torch("2.10.0", "12.8")) == ()
    assert architectures_of(torch("2.5.0a0+872d972e41.nv24.8", "12.6")) == ()


@pytest.mark.parametrize(
    ("gpu", "wanted", "version", "tag"),
    [
        (with_driver("535.183.01"), "2.9.1+cu130", "2.9.1", "cu126"),
        (with_driver("575.57.08"), "2.9.1+cpu", "2.9.1", "cu128"),
        (with_driver("580.95.05"), "2.9.1", "2.9.1", "cu130"),
        (with_driver("610.43.02"), "2.14.0", "2.14.0", "cu132"),
        (with_driver("580.95.05", "6.1"), "2.9.1", "2.9.1", "cu126"),
        (with_driver("580.95.05", "12.0", "8.6"), "2.7.1", "2.7.1", "cu128"),
        (with_driver("580.95.05", "6.1", "8.6"), "2.9.1", "2.9.1", "cu126"),
        (with_driver("580.95.05", "2.1", "8.9"), "2.9.1", "2.9.1", "cu130"),
        (with_driver("470.256.02"), "2.9.1", "2.7", "cu118"),
        (with_driver("535.183.01"), "2.10.0a0+git0000000", "2.10", "cu126"),
    ],
)
def test_the_build_that_suits_driver_and_gpus_is_named(gpu: Gpu, wanted: str, version: str, tag: str) -> None:
    choice = choose_torch_build(gpu, wanted)
    assert choice is not None
    assert (choice.torch, choice.tag) == (version, tag)


def test_no_build_is_named_where_none_is_known() -> None:
    assert choose_torch_build(with_driver("390.157"), "2.9.1") is None
    assert choose_torch_build(with_driver("650.10", offers="14.0"), "2.99.0") is None
    assert choose_torch_build(Gpu(tegra=True), "2.9.1") is None
    assert choose_torch_build(with_driver("580.95.05", "2.1"), "2.9.1") is None


@pytest.mark.parametrize(
    ("version", "torchvision"), [("2.9.1+cu126", "0.24"), ("2.0.1", "0.15"), ("1.13.1", "0.14"), ("2.99.0", "")]
)
def test_each_torch_has_its_torchvision(version: str, torchvision: str) -> None:
    assert torchvision_for(version) == torchvision


def test_the_wheels_for_images_are_those_of_torch_s_cuda_where_the_driver_serves_it() -> None:
    latest = with_driver("580.95.05")
    assert (dali_wheel(latest), nvimgcodec_wheel(latest)) == ("nvidia-dali-cuda130", "nvidia-nvimgcodec-cu13")
    beside = Gpu(driver="580.95.05", nodes=True, frameworks=(torch("2.9.1+cu126", "12.6"),))
    assert dali_wheel(beside) == "nvidia-dali-cuda120"
    assert dali_wheel(with_driver("550.54.15")) == "nvidia-dali-cuda120"
    assert dali_wheel(with_driver("390.157")) is None
    assert dali_wheel(Gpu()) is None


def test_the_tables_are_in_order() -> None:
    drivers = [numbers(driver) for driver in FIRST_DRIVERS.values()]
    assert all(later > earlier for later, earlier in pairwise(drivers))
    for major, least in MINIMUM_DRIVERS.items():
        assert all(numbers(FIRST_DRIVERS[f"{major}.{minor}"]) >= numbers(least) for minor in (1, 2))
    for row in TORCH_BUILDS:
        assert row.cuda in FIRST_DRIVERS
        assert numbers(row.first) <= numbers(row.last)
        assert list(row.architectures) == sorted(row.architectures, key=numbers)
