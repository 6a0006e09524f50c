"""Concurrent long operations: if one fails or is interrupted, the commands of the others end at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fastinstall.core.concurrency import run_together
from fastinstall.core.process import CommandError, ProcessGroup, run

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")


def test_results_come_in_the_order_of_the_works() -> None:
    def say(word: str, seconds: float, process_group: ProcessGroup) -> str:
        program = f"import time; time.sleep({seconds}); print({word!r})"
        return run((sys.executable, "-c", program), process_group=process_group).stdout.strip()

    assert run_together(
        [lambda process_group: say("late", 0.3, process_group), lambda process_group: say("early", 0, process_group)]
    ) == [
        "late",
        "early",
    ]


def test_one_failure_ends_the_other_commands_and_is_reported() -> None:
    def fail(process_group: ProcessGroup) -> None:
        run((sys.executable, "-c", "raise SystemExit(3)"), process_group=process_group)

    started = time.monotonic()
    with pytest.raises(CommandError, match="exit code 3"):
        run_together([lambda process_group: run(SLEEP, process_group=process_group), fail])
    assert time.monotonic() - started < 30


def test_what_is_started_on_a_leash_that_was_pulled_ends_too() -> None:
    process_group = ProcessGroup()
    process_group.pull()
    assert run(SLEEP, process_group=process_group, check=False).signal_name == "SIGKILL"


def test_an_interruption_ends_all_commands(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom fastinstall.core.process import run\n"
        "from fastinstall.core.concurrency import run_together\n"
        "def work(name):\n"
        "    words = (sys.executable, '-c', f'import os, pathlib, time;'\n"
        "        f'pathlib.Path(r\"{sys.argv[1]}/{name}\").write_text(str(os.getpid())); time.sleep(60)')\n"
        "    return lambda process_group: run(words, process_group=process_group)\n"
        "run_together([work('one'), work('two')])\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.DEVNULL) as child:
        while not all((tmp_path / name).is_file() and (tmp_path / name).read_text() for name in ("one", "two")):
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        child.wait(timeout=20)
    for name in ("one", "two"):
        assert not Path(f"/proc/{(tmp_path / name).read_text()}").exists()
