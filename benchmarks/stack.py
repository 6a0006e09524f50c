"""The speed of the stack: every operation, on a real photograph, in turn with the newest official wheel.

    python benchmarks/stack.py --prefix ENV [--photo FILE] [--rounds N] [--json FILE] [--plot FILE.png]

ENV is an environment that `fastinstall setup` has made. Without --photo, the photograph of
scikit-learn is used where that is installed, else a generated picture. Ratios are of medians over
interleaved rounds; above 1 is faster.
"""

import argparse
import importlib.util
import os
from pathlib import Path

from fastinstall.bench.report import BenchRequest
from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import render_speed_table
from fastinstall.core import temporary_directories
from fastinstall.core.codec import document, dump
from fastinstall.model.facts import Environment
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import Session, open_session
from fastinstall.proof.stack_operations import unpack_official_wheel
from fastinstall.proof.timing import MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.verbs.measure_loading import make_bench_execution_context, observe_context

GOALS = {
    "decode-256-224 500 px": 2.1,
    "resize 1080p-256 RGB lanczos": 10.0,
    "png encode": 1.8,
    "geometric mean": 2.4,
}


def main() -> None:
    """Measure, print, and compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--photo", type=Path, default=photo())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    session = open_session(os.environ)
    effort = TimingEffort(operations=(), rounds=arguments.rounds, photo=arguments.photo)
    table = measure_operations(session, find_environment(session, NamedTarget(prefix=arguments.prefix)), effort)
    print(render_speed_table(table, Page()))
    report_goals(table)
    if arguments.json:
        arguments.json.write_text(dump(document("speed", table)), encoding="utf-8")
    if arguments.plot:
        plot(table, arguments.plot)


def measure_operations(session: Session, environment: Environment, effort: TimingEffort) -> SpeedTable:
    """The stack in place against the newest official wheel, whatever is in place."""
    with temporary_directories.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, BenchRequest(loading=False), space, [])
        execution = make_bench_execution_context(context, offline=False)
        wheel = execution.index.releases(execution.recipe, context.facts.interpreter).wheels[0]
        official = MeasuredPil(
            label=f"pillow {wheel.version} (official wheel)",
            python=context.python,
            stage=unpack_official_wheel(wheel, execution),
        )
        conditions = MeasurementConditions(
            cpu=context.facts.cpu.name,
            measured_at=session.now().isoformat(timespec="seconds"),
            variables=session.variables,
            emit=session.emit,
        )
        return measure(official, MeasuredPil(label=context.label, python=context.python), effort, conditions)


def photo() -> Path | None:
    """A photograph that comes with scikit-learn."""
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "datasets" / "images" / "china.jpg"


def report_goals(table: SpeedTable) -> None:
    """Which goals are met, and which operations lose."""
    ratios = {row.operation: row.before_ms / row.after_ms for row in table.rows}
    ratios["geometric mean"] = table.geomean
    for name, goal in GOALS.items():
        verdict = "met" if ratios[name] >= goal else "MISSED"
        print(f"goal {name}: at least {goal}x, measured {ratios[name]:.2f}x: {verdict}")
    listed = ", ".join(f"{row.operation} {row.ratio:.2f}" for row in sorted(table.slower, key=lambda row: row.ratio))
    print(f"{table.candidate} is {table.gain}")
    print(f"{len(table.rows)} operations, {len(table.slower)} slower beyond the noise{f': {listed}' if listed else ''}")


def plot(table: SpeedTable, path: Path) -> None:
    """Horizontal bars on a logarithmic axis."""
    import matplotlib as mpl  # noqa: PLC0415 (only with --plot)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    rows = sorted(table.rows, key=lambda row: row.before_ms / row.after_ms)
    ratios = [row.before_ms / row.after_ms for row in rows]
    figure, axes = plt.subplots(figsize=(8, 0.19 * len(rows) + 1.2), layout="constrained")
    colours = ["#2a7f62" if ratio >= 1 else "#b5462f" for ratio in ratios]
    axes.barh([row.operation for row in rows], ratios, color=colours)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"times as fast as {table.baseline} ({table.cpu})")
    axes.tick_params(axis="y", labelsize=6)
    axes.margins(y=0.005)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
