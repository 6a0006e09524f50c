"""Measure workers that share a memory limit: images loaded, workers killed, and memory of an idle worker.

    python benchmarks/workers.py NAME=ENV/bin/python ... [--rounds N] [--only WORD] [--json FILE]

Each environment needs Pillow. A program imports Pillow and forks workers. Each worker loads, converts and resizes a
12-megapixel photo three times: either all workers at once, or in turn, as if a server got one request after another. A
*service* runs in a control group below the root of the mounted hierarchy, as with systemd, Slurm and login sessions. A
*container* has its own cgroup namespace and mount, so that its group appears as the root. Rows named `ulimit` try a
range of limits, and count those under which one process succeeds. Needs root, control groups of version 1 or 2, and a
machine without swap.
"""

import argparse
import fcntl
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MB = 1 << 20
IMAGES = 3
LIMITS = (  # manner, limit in MB, number of workers
    ("service", 300, 4),
    ("service", 400, 5),
    ("service", 512, 8),
    ("container", 512, 12),
    ("container", 1024, 12),
    ("service", 65536, 4),
)
ORDERS = ("at once", "in turn")
GROUPS = {
    f"{manner}, {limit:,} MB, {workers} workers, {order}": (manner, limit, workers, order)
    for manner, limit, workers in LIMITS
    for order in ORDERS
}
SWEEPS = {"ulimit -d": resource.RLIMIT_DATA, "ulimit -v": resource.RLIMIT_AS}
SWEPT = range(32, 352, 8)  # MB
SIZES = {"12 MP": (4000, 3000), "1080p": (1920, 1080)}
ROWS = (*GROUPS, *(f"{sweep}, {size}" for sweep in SWEEPS for size in SIZES))
Counted = dict[str, float]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in arguments.environments)
    table: dict[str, dict[str, list[Counted]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run((next(iter(pythons.values())), "-I", __file__, "--draw", directory), check=True)
        for row in filter(lambda row: arguments.only in row, ROWS):
            runs: dict[str, list[Counted]] = {name: [] for name in pythons}
            for _ in range(arguments.rounds):
                for name, python in pythons.items():
                    runs[name].append(run_row(row, python, directory))
            table[row] = runs
            print(row, *(f"{name}: {tell(runs[name])}" for name in pythons), sep="\n    ", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1))


def tell(runs: list[Counted]) -> str:
    """Format the figures of all runs of a row in one environment."""
    return "; ".join(f"{figure} {', '.join(f'{run[figure]:g}' for run in runs)}" for figure in runs[0])


def run_row(row: str, python: str, directory: str) -> Counted:
    """Measure one row once, in new processes."""
    if row in GROUPS:
        manner, limit, workers, order = GROUPS[row]
        return run_in_group(manner, limit, (python, "-I", __file__, "--workers", directory, str(workers), order))
    sweep, size = row.split(", ")
    argv = (python, "-I", __file__, "--limited", directory, size, sweep)
    succeeded = [
        limit for limit in SWEPT if not subprocess.run((*argv, str(limit)), check=False, capture_output=True).returncode
    ]
    return {"succeed": len(succeeded), "from MB": min(succeeded, default=0)}


def run_in_group(manner: str, limit: int, argv: tuple[str, ...]) -> Counted:
    """Run a program in a control group with a memory limit in MB, and return the figures that it prints."""
    version_1 = Path("/sys/fs/cgroup/memory")
    root, file, options = (
        (version_1, "memory.limit_in_bytes", ("cgroup", "-o", "memory"))
        if version_1.is_dir()
        else (Path("/sys/fs/cgroup"), "memory.max", ("cgroup2",))
    )
    group = root / f"fastinstall-workers-{os.getpid()}"
    group.mkdir()
    try:
        (group / file).write_text(str(limit * MB))
        script = 'echo $$ > "$1" && shift && exec "$@"'
        if manner == "container":
            mount = f'umount {root} && mount -t {" ".join(options)} none {root} && exec "$@"'
            argv = ("unshare", "--cgroup", "--mount", "sh", "-c", mount, "sh", *argv)
        command = ("sh", "-c", script, "sh", str(group / "cgroup.procs"), *argv)
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        remove(group)
    counted: Counted = json.loads(answer)
    return counted


def remove(group: Path) -> None:
    """Remove a control group; retry, as it stays busy for a moment after its last process has ended."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


def draw(directory: Path) -> None:
    """Write a JPEG of each size."""
    from PIL import Image  # only in a child

    for name, (width, height) in SIZES.items():
        noise = Image.effect_noise((width // 4, height // 4), 90).convert("RGB")
        noise.resize((width, height), Image.Resampling.BICUBIC).save(directory / f"{name}.jpg", quality=90)


def run_workers(directory: Path, count: int, order: str) -> Counted:
    """Fork workers that each load and resize a photo a few times and then idle; return the figures."""
    from PIL import Image  # only in a child

    Image.init()
    answers, answer = os.pipe()
    waiting, end = os.pipe()
    workers = []
    for _ in range(count):
        worker = os.fork()
        if not worker:
            os.close(answers)
            os.close(end)
            for _ in range(IMAGES):
                with (directory / "turn").open("w") as turn:
                    if order == "in turn":
                        fcntl.flock(turn, fcntl.LOCK_EX)  # the kernel releases the lock if the worker is killed
                    load(directory, "12 MP")
                os.write(answer, b"+")
            os.close(answer)
            os.read(waiting, 1)
            os._exit(0)
        workers.append(worker)
    os.close(answer)
    answered = len(b"".join(iter(lambda: os.read(answers, 4096), b"")))
    idle = [size for worker in workers if (size := read_resident(worker))]
    os.close(end)
    died = sum(os.waitpid(worker, 0)[1] != 0 for worker in workers)
    return {"answers": answered, "died": died, "idle MB": round(statistics.median(idle)) if idle else 0}


def load(directory: Path, size: str) -> None:
    """Load and resize one photo."""
    from PIL import Image  # only in a child

    Image.open(directory / f"{size}.jpg").convert("RGB").resize((1000, 750), Image.Resampling.LANCZOS)


def read_resident(process: int) -> float:
    """Return the resident memory of a process in MB; 0 if the process has died."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0)


if __name__ == "__main__":
    if sys.argv[1] == "--draw":
        draw(Path(sys.argv[2]))
    elif sys.argv[1] == "--workers":
        print(json.dumps(run_workers(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    elif sys.argv[1] == "--limited":
        limit = int(sys.argv[5]) * MB
        resource.setrlimit(SWEEPS[sys.argv[4]], (limit, limit))
        for _ in range(IMAGES):
            load(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
