"""Script for one PIL: prints as JSON how many threads operations use, and whether pixels stay the same.

operation_threads.py count      the most threads seen at once, and the signals that they do not block
operation_threads.py fork       forks while another thread works; every child runs the operations too
operation_threads.py none       the process may start no thread
"""

import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path

from PIL import Image, ImageFilter

ROUNDS, FORKS, NOBODY = 8, 20, 65534
SPIN = (0.9, 0.1, 5.0, -0.1, 0.9, 9.0)
TASKS = Path("/proc/self/task")


def main() -> None:
    """Run the mode that the argument names."""
    picture = Image.effect_noise((2000, 1500), 90).convert("RGB")
    json.dump({"count": count, "fork": fork, "none": forbid}[sys.argv[1]](picture), sys.stdout)


def work(picture: Image.Image) -> list[bytes]:
    """Return the results of the operations that may use threads."""
    band = picture.getchannel(0)
    results = [
        picture.resize((1200, 900), Image.Resampling.BICUBIC),
        picture.reduce(2),
        picture.filter(ImageFilter.UnsharpMask(2, 150, 3)),
        picture.filter(ImageFilter.BoxBlur(3)),
        picture.transform(picture.size, Image.Transform.AFFINE, SPIN, Image.Resampling.BILINEAR),
        picture.transform(picture.size, Image.Transform.AFFINE, SPIN),
        band.filter(ImageFilter.MedianFilter(3)),
    ]
    return [result.tobytes() for result in results]


def count(picture: Image.Image) -> dict[str, object]:
    """Return how many threads the operations start at most, and which signals these threads do not block."""
    ended, most, open_signals = threading.Event(), 0, set[int]()
    own = {threading.get_native_id()}

    def watch() -> None:
        nonlocal most
        own.add(threading.get_native_id())
        while not ended.is_set():
            tasks = [int(task.name) for task in TASKS.iterdir()]
            most = max(most, len(tasks) - len(own))
            for task in set(tasks) - own:
                open_signals.update(read_open_signals(task))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(ROUNDS):
        work(picture)
    ended.set()
    watcher.join()
    return {"threads": most, "signals": sorted(open_signals)}


def read_open_signals(task: int) -> set[int]:
    """Return the standard signals (1 to 31) that a thread does not block; empty if the thread has ended.

    For a thread that is about to end, the kernel shows empty masks: even SIGINT, which Python catches, is missing.
    """
    try:
        lines = (TASKS / str(task) / "status").read_text().splitlines()
    except OSError:
        return set()
    masks = {line[:6]: int(line.split()[1], 16) for line in lines if line.startswith("Sig") and "/" not in line}
    if not masks.get("SigCgt"):
        return set()
    blocked = masks["SigBlk"]
    never = {signal.SIGKILL, signal.SIGSTOP}
    return {number for number in range(1, 32) if not blocked >> (number - 1) & 1 and number not in never}


def fork(picture: Image.Image) -> int:
    """Return the number of forked children with correct pixels."""
    expected, ended = work(picture), threading.Event()

    def run() -> None:
        while not ended.is_set():
            assert work(picture) == expected

    other = threading.Thread(target=run)
    other.start()
    right = 0
    for _ in range(FORKS):
        child = os.fork()
        if not child:
            signal.alarm(60)
            os._exit(work(picture) != expected)
        right += os.waitpid(child, 0)[1] == 0
    ended.set()
    other.join()
    return right


def forbid(picture: Image.Image) -> bool:
    """Return True if pixels are correct when no thread can be started."""
    expected = work(picture)
    if os.geteuid() == 0:  # RLIMIT_NPROC does not limit root
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return work(picture) == expected
    raise AssertionError("a thread could be started")


if __name__ == "__main__":
    main()
