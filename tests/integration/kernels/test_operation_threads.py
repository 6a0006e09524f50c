"""Threads within one operation: they start only if requested, and do not change the pixels.

The box blur, which only clang compiles, is not in this build. `make -C recipes/kernels check` tests it with threads.
"""

import json

import pytest
from integration.kernels.builds import QUICKLY, THREADS, KernelsBuild, run_script

from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.runs import ProofStack

pytestmark = pytest.mark.slow
SPLIT = "-DFI_SHARE_BYTES=1"
"""Makes operations split pictures of any size."""
BEGINS = (
    *("resize/", "thumbnail/", "reduce/", "box-blur/", "gaussian-blur/", "unsharp-mask/", "rotate/", "transform/"),
    *("median/", "smallest/", "largest/"),
)
WRONG = (r"\.first = \(int\)next\}", ".first = (int)next + (i > 1)}")
"""Injects a fault: the third share omits its first row."""


def split(build: KernelsBuild, name: str, pattern: str, replacement: str) -> ProofStack:
    """Return a stack that splits pictures of any size among threads: threads.h is changed, its users recompiled."""
    source = build.changed(name, "src/libImaging/threads.h", pattern, replacement)
    return build.stack(f"stack-{name}", source, flags=(*QUICKLY, SPLIT)).with_variables({THREADS: "3"})


def run(ours: ProofStack, word: str, **variables: str) -> object:
    variables["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # Python warns of forks while threads run
    return json.loads(run_script(ours, "operation_threads.py", word, **variables)[0])


def test_shares_of_any_size_give_what_pillow_gives(build: KernelsBuild) -> None:
    cases = tuple(case for case in matrix_cases(sizes=((35, 13),)) if case.startswith(BEGINS))
    assert build.differences(split(build, "split", r"\Z", "/* compiled again */\n"), cases) == ()


def test_a_share_that_leaves_a_row_out_is_found(build: KernelsBuild) -> None:
    cases = tuple(case for case in matrix_cases(sizes=((35, 13),), modes=("RGB",)) if case.startswith(BEGINS))
    found = {difference.case.partition("/")[0] for difference in build.differences(split(build, "cut", *WRONG), cases)}
    assert {"resize", "reduce", "transform", "median"} <= found


@pytest.mark.parametrize("value", [None, "0", "65", "2x"])
def test_no_thread_starts_unless_some_are_asked_for(ours: ProofStack, value: str | None) -> None:
    variables = {} if value is None else {THREADS: value}
    assert run(ours, "count", **variables) == {"threads": 0, "signals": []}


def test_threads_start_when_requested_and_block_signals(ours: ProofStack) -> None:
    assert run(ours, "count", **{THREADS: "2"}) == {"threads": 1, "signals": [7, 11]}


def test_a_process_may_fork_while_threads_work(ours: ProofStack) -> None:
    assert run(ours, "fork", **{THREADS: "3"}) == 20


def test_pictures_are_right_where_no_thread_can_start(ours: ProofStack) -> None:
    assert run(ours, "none", **{THREADS: "3"}) is True
