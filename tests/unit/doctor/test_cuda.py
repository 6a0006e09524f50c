"""Whether a driver supports a CUDA version, by NVIDIA's tables, or by what the driver itself reports."""

import pytest

from fastinstall.doctor.checks.cuda import find_required_driver, is_new_enough
from fastinstall.model.machine import Gpu


def with_driver(version: str, *, offers: str = "", wsl: bool = False) -> Gpu:
    return Gpu(driver=version, driver_cuda=offers, nodes=True, wsl=wsl)


@pytest.mark.parametrize(
    ("cuda", "driver"),
    [
        ("13.2", "580.65.06"),
        ("12.8", "525.60.13"),
        ("12", "525.60.13"),
        ("11.8", "450.80.02"),
        ("11.0", "450.36.06"),
        ("10.2", "440.33"),
        ("9.2", "396.26"),
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
    assert is_new_enough(with_driver(driver), cuda) is served


def test_what_nvml_says_of_the_driver_counts_more_than_the_table() -> None:
    assert is_new_enough(with_driver("650.10", offers="14.0"), "14.1") is True
    assert is_new_enough(with_driver("440.10", offers="10.2"), "10.2") is True
    assert is_new_enough(with_driver("470.86", offers="11.4"), "12.0") is False


def test_windows_drivers_share_branches_but_have_other_numbers() -> None:
    assert is_new_enough(with_driver("580.10", wsl=True), "13.0") is True
    assert is_new_enough(with_driver("580.10"), "13.0") is False
    assert is_new_enough(with_driver("576.57", wsl=True), "13.0") is False


def test_a_tegra_is_not_judged_by_its_driver() -> None:
    assert is_new_enough(Gpu(driver="35.2.1", tegra=True), "11.4") is None
