"""Threads inside one operation: none unless they are asked for, and with them the same pixels.

The box blur, which only clang compiles, is not in this build. Its check by `make -C recipes/kernels check` has threads.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.build.kernels import LEVEL, QUICKLY, KernelsBuild, kernels_build
from support.machine.needs import require_system

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.runs import ProofStack

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[1] / "support/build/operation_threads.py"
THREADS = "FASTINSTALL_THREADS"
SPLIT = "-DFI_SHARE_BYTES=1"
"""Pictures of any size are split."""
BEGINS = (
    *("resize/", "thumbnail/", "reduce/", "box-blur/", "gaussian-blur/", "unsharp-mask/", "rotate/", "transform/"),
    *("median/", "smallest/", "largest/"),
)
WRONG = (r"\.first = \(int\)next\}", ".first = (int)next + (i > 1)}")
"""The third share leaves out its first row."""


@pytest.fixture(scope="module")
def build(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelsBuild]:
    require_system(shutil.which("gcc"), "gcc")
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    with kernels_build(shared_cache, tmp_path_factory.mktemp("shares")) as made:
        yield made


@pytest.fixture(scope="module")
def ours(build: KernelsBuild) -> ProofStack:
    return build.stack("ours", build.build_tree.source)


def split(build: KernelsBuild, name: str, pattern: str, replacement: str) -> ProofStack:
    """A build that splits pictures of any size. What includes threads.h, which is changed, is compiled again."""
    source = build.changed(name, "src/libImaging/threads.h", pattern, replacement)
    return build.stack(f"stack-{name}", source, flags=(*QUICKLY, SPLIT)).with_variables({THREADS: "3"})


def run(stack: ProofStack, word: str, **variables: str) -> object:
    inherited = {name: value for name, value in os.environ.items() if name != THREADS}
    environment = {**inherited, **stack.variables, "PYTHONPATH": str(stack.tree), "FASTINSTALL_GUARD": "0", **variables}
    argv = (stack.python, "-W", "ignore::DeprecationWarning", SCRIPT, word)  # of a fork where threads run
    done = subprocess.run(argv, env=environment, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
