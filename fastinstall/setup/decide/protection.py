"""Refuse environments that no setup may change: the system's, conda's base, frozen ones, half-changed ones. Pure."""

from pathlib import PurePath

from fastinstall.conda.reinstall import name_of_dist
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import listing, quote, recover_command
from fastinstall.model.conda import Conda
from fastinstall.model.facts import EnvironmentKind, Facts, ObstacleKind, SetupObstacle
from fastinstall.model.history import way_out


def refuse_if_protected(facts: Facts) -> None:
    """Raise if the target must not be changed by any request.

    Raises:
        RefusedError: the target's Python is not CPython. Or the target belongs to the system (PEP 668), is frozen, or
            is the environment of conda itself ("base") or of fastinstall itself. Or its conda records cannot be read,
            this user may not write to it, an obstacle prevents replacing its files (`Facts.obstacles`), or a
            transaction of ours or of conda is unfinished.
        UsageError: the journal of a transaction cannot be read.
    """
    _refuse_target(facts)
    if facts.environment.kind is EnvironmentKind.CONDA:
        _refuse_conda(facts.environment.prefix, facts.conda)
    _refuse_state(facts)


def _refuse_target(facts: Facts) -> None:
    prefix, interpreter, kind = facts.environment.prefix, facts.interpreter, facts.environment.kind
    marker = interpreter.externally_managed
    another = f"fastinstall setup --new-env ./fast-env --python {quote(interpreter.executable)}"
    if interpreter.implementation != "cpython":
        raise RefusedError(
            f"{interpreter.executable} is {interpreter.implementation}: the SIMD core is built for CPython only",
            hint="keep stock Pillow there, or use a CPython environment: "
            "fastinstall setup --new-env DIR --python python3",
        )
    if marker is not None and kind is not EnvironmentKind.CONDA:  # in a conda environment, the marker only forbids pip
        raise RefusedError(
            f"{prefix} belongs to the operating system ({marker}, PEP 668)",
            hint=f"create a virtual environment: {another}",
        )
    if facts.frozen is not None:
        raise RefusedError(
            f"{prefix} is frozen ({facts.frozen})",
            hint=f"clone it: conda create --clone {quote(prefix)} --prefix ./clone; "
            "and set up the clone: fastinstall setup --prefix ./clone",
        )
    if prefix == facts.tool_prefix:
        raise RefusedError(
            f"{prefix} is fastinstall's own environment", hint="name the environment to work on: --prefix DIR"
        )
    if kind is EnvironmentKind.SYSTEM:
        raise RefusedError(
            f"{prefix} is not a virtual environment: fastinstall never changes a global interpreter", hint=another
        )


def _refuse_conda(prefix: PurePath, conda: Conda | None) -> None:
    if conda is None:
        raise RefusedError(f"{prefix}: conda's packages there were not observed")
    if conda.is_base:
        raise RefusedError(
            f"{prefix} is conda's own environment (base): a failure there would break conda",
            hint="use another environment: conda create --name images python pillow; fastinstall setup --prefix DIR",
        )
    if conda.unreadable:
        # If a record cannot be read, the owners of that package's files are unknown. conda itself refuses to work then,
        # too.
        names = sorted(conda.unreadable)
        file, others = prefix / "conda-meta" / names[0], len(names) - 1
        more = f", and {others} more" if others else ""
        package = quote(name_of_dist(names[0].removesuffix(".json")))
        raise RefusedError(
            f"{file}: {conda.unreadable[names[0]]}{more}: conda's records of {prefix} are damaged",
            hint=f"move it away and reinstall its package: mv {quote(file)} {quote(f'{file}.damaged')}; "
            f"conda install --prefix {quote(prefix)} --force-reinstall {package}",
            details=tuple(f"{name}: {conda.unreadable[name]}" for name in names) if others else (),
        )
    if conda.debris:
        raise RefusedError(
            f"{prefix}: an interrupted conda transaction left {listing(conda.debris)}",
            hint=f"repeat conda's last command (`conda list --prefix {quote(prefix)} --revisions` shows what it did), "
            f"then remove what it left: rm -r {' '.join(quote(prefix / path) for path in conda.debris)}",
        )


def _make_obstacle_refusal(obstacle: SetupObstacle) -> RefusedError:
    place, another = obstacle.place, "fastinstall setup --new-env ./fast-env"
    message, hint = {
        ObstacleKind.LEADS_OUT: (
            f"{place}: leads outside the environment, to {obstacle.leads_to}: nothing is changed there",
            f"create an environment without that link: {another}",
        ),
        ObstacleKind.IN_THE_WAY: (
            f"{place}: is in the way: it is not a directory",
            f"check what it is, then move it away: mv {quote(place)} {quote(f'{place}.away')}",
        ),
        ObstacleKind.MOUNTED: (
            f"{place}: another filesystem is mounted there, so it cannot be replaced",
            f"see what it is: findmnt {quote(place)}; or use another environment: {another}",
        ),
        ObstacleKind.NOT_WRITABLE: (
            f"{place}: not writable by this user",
            f"see who owns it: ls -ld {quote(place)}; or create your own environment: {another}",
        ),
        ObstacleKind.IMMUTABLE: (
            f"{place}: immutable or append-only, so it cannot be replaced",
            f"see its flags: lsattr -d {quote(place)}; root removes them: chattr -ia {quote(place)}",
        ),
        ObstacleKind.NOEXEC: (
            f"{place}: mounted noexec: no program and no library there can be run",
            f"check how it is mounted: findmnt -T {quote(place)}; or use another environment: {another}",
        ),
    }[obstacle.kind]
    return RefusedError(message, hint=hint)


def _refuse_state(facts: Facts) -> None:
    prefix = facts.environment.prefix
    if not facts.writable:
        records = f" or {prefix / 'conda-meta'}" if facts.conda is not None else ""
        raise RefusedError(
            f"{facts.interpreter.site_packages}{records} is not writable by this user",
            hint="run as the environment's owner, or create your own: fastinstall setup --new-env ./fast-env",
        )
    for obstacle in facts.obstacles:
        raise _make_obstacle_refusal(obstacle)
    damaged = next((each for each in facts.history.unreadable if each.transaction), None)
    if damaged is not None:
        out = way_out(damaged, prefix)
        raise UsageError(damaged.problem, hint=f"move it aside, which deletes nothing: {out}" if out else None)
    if facts.interrupted is not None:
        raise RefusedError(
            f"{prefix}: transaction {facts.interrupted} was interrupted", hint=f"undo it: {recover_command(prefix)}"
        )
