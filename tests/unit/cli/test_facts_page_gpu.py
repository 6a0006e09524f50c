"""GPUs among the facts, as `fastinstall inspect` shows them."""

from support.suite.golden import Golden
from support.values.builders import changed, healthy_facts

from fastinstall.cli.console import Page
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.core.codec import decode, encode
from fastinstall.model.facts import Facts
from fastinstall.model.machine import FrameworkBuild, Gpu, GpuDevice, GpuSource

GPU = Gpu(
    found_by=GpuSource.NVML,
    devices=(GpuDevice(name="NVIDIA A40", capability="8.6", memory_bytes=48 << 30),),
    nodes=True,
    driver="550.54.15",
    driver_cuda="12.4",
    library="550.54.15",
    frameworks=(
        FrameworkBuild(name="torch", version="2.9.1+cu126", cuda="12.6"),
        FrameworkBuild(name="torchvision", version="0.24.1", known=False),
        FrameworkBuild(name="jax", version="0.8.1"),
    ),
)


def shown(gpu: Gpu | None) -> list[str]:
    facts = changed(healthy_facts(), {"gpu": encode(gpu)})
    return [" ".join(line.split()) for line in facts_text(facts, Page(width=200, verbose=True)).splitlines()]


def test_gpus_their_driver_and_what_was_built_for_them_are_shown(golden: Golden) -> None:
    golden(_rows_of_gpus(shown(GPU)))


def test_what_is_not_known_is_said(golden: Golden) -> None:
    unknown = Gpu(nodes=True, problem="NVML: Driver Not Loaded", devices=(GpuDevice(name="NVIDIA A40"),))
    lines = shown(unknown)
    assert f"gpu problem {unknown.problem}" in lines
    golden(_rows_of_gpus(lines))


def _rows_of_gpus(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line.startswith(("gpu", "built for")))


def test_without_gpu_and_framework_there_is_no_line_on_them() -> None:
    assert not [line for line in shown(None) if line.startswith(("gpu", "built for"))]


def test_facts_that_know_nothing_of_gpus_can_still_be_read() -> None:
    document = encode(healthy_facts())
    del document["gpu"]
    assert decode(Facts, document, file="facts") == healthy_facts()
    assert decode(Facts, encode(changed(healthy_facts(), {"gpu": encode(GPU)})), file="facts").gpu == GPU
