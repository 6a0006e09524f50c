"""How memory is handed out is looked at where something is installed that trains, and nowhere else."""

from fastinstall.model.facts import Distribution
from fastinstall.observe.loader_limits import observe_loading


def distribution(name: str) -> Distribution:
    return Distribution(name=name, version="1", metadata=f"{name}-1.dist-info")


def test_where_nothing_trains_nothing_is_looked_at() -> None:
    assert observe_loading((distribution("pillow"), distribution("opencv-python")), "") is None


def test_where_something_trains_the_kernel_s_word_and_the_variable_are_kept() -> None:
    seen = observe_loading((distribution("pillow"), distribution("torch")), "glibc.malloc.hugetlb=1")
    assert seen is not None
    assert seen.tunables == "glibc.malloc.hugetlb=1"
    assert seen.huge_pages in ("always", "madvise", "never", "")
