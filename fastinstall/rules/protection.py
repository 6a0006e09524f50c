"""Which environments are never changed, and why. Pure."""

from pathlib import PurePath

from fastinstall.errors import FastinstallError, RefusedError, UsageError
from fastinstall.model.conda import Conda
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.rules.conda_repair import name_of
from fastinstall.rules.interruptions import way_out
from fastinstall.rules.messages import listing, quote


def refuse_if_protected(facts: Facts) -> None:
    """Raise where the target must not be changed, whatever is wished.

    Raises:
        RefusedError: not CPython, a system Python (PEP 668), a frozen environment, conda's own ("base"), one whose
            conda records cannot be read, the tool's own environment, one that this user may not write to, or one
            with an unfinished transaction, of ours or of conda.
    """
    for judge in (_interpreter, _ownership, _kind, _conda, _permission, _unfinished):
        reason = judge(facts)
        if reason is not None:
            raise reason


def _interpreter(facts: Facts) -> FastinstallError | None:
    if facts.interpreter.implementation == "cpython":
        return None
    return RefusedError(
        f"{facts.interpreter.executable} is {facts.interpreter.implementation}: "
        "the SIMD core is built for CPython only",
        hint="keep stock Pillow there, or use a CPython environment: fastinstall setup --new-env DIR --python python3",
    )


def _ownership(facts: Facts) -> FastinstallError | None:
    marker = facts.interpreter.externally_managed
    if marker is not None and facts.environment.kind is not EnvironmentKind.CONDA:  # there it means: by conda
        return RefusedError(
            f"{facts.environment.prefix} belongs to the operating system ({marker}, PEP 668)",
            hint=f"make an environment of your own: fastinstall setup --new-env ./fast-env "
            f"--python {quote(facts.interpreter.executable)}",
        )
    if facts.frozen is not None:
        return RefusedError(
            f"{facts.environment.prefix} is frozen ({facts.frozen})",
            hint=f"clone it: conda create --clone {quote(facts.environment.prefix)} --prefix ./clone, and work there: "
            "fastinstall setup --prefix ./clone; or ask whoever froze it",
        )
    if facts.environment.prefix == facts.tool_prefix:
        return RefusedError(
            f"{facts.environment.prefix} is fastinstall's own environment",
            hint="name the environment to work on: --prefix DIR",
        )
    return None


def _kind(facts: Facts) -> FastinstallError | None:
    if facts.environment.kind is EnvironmentKind.SYSTEM:
        return RefusedError(
            f"{facts.environment.prefix} is not a virtual environment: a global interpreter is never changed",
            hint=f"fastinstall setup --new-env ./fast-env --python {quote(facts.interpreter.executable)}",
        )
    return None


def _conda(facts: Facts) -> FastinstallError | None:
    if facts.environment.kind is not EnvironmentKind.CONDA:
        return None
    conda, prefix = facts.conda, facts.environment.prefix
    if conda is None:
        return RefusedError(f"{prefix}: what conda has installed there was not observed")
    if conda.is_base:
        return RefusedError(
            f"{prefix} is conda's own environment (base): what goes wrong there takes conda along",
            hint="work in another: conda create --name images python pillow; fastinstall setup --prefix DIR",
        )
    if conda.unreadable:
        return _unreadable(prefix, conda)
    if conda.debris:
        return RefusedError(
            f"{prefix}: a transaction of conda was interrupted, and left {listing(conda.debris)}",
            hint=f"run conda's last command again (`conda list --prefix {quote(prefix)} --revisions` tells what it "
            f"was about), then remove what it left: rm -r {' '.join(quote(prefix / path) for path in conda.debris)}",
        )
    return None


def _unreadable(prefix: PurePath, conda: Conda) -> FastinstallError:
    """Without every record nobody knows which files are whose; conda itself stops there too."""
    names = sorted(conda.unreadable)
    file = prefix / "conda-meta" / names[0]
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    package = name_of(names[0].removesuffix(".json"))
    return RefusedError(
        f"{file}: {conda.unreadable[names[0]]}{more}: conda's records of {prefix} are damaged",
        hint=f"move it away and install its package again: mv {quote(file)} {quote(f'{file}.damaged')}; "
        f"conda install --prefix {quote(prefix)} --force-reinstall {quote(package)}",
        details=tuple(f"{name}: {conda.unreadable[name]}" for name in names) if more else (),
    )


def _permission(facts: Facts) -> FastinstallError | None:
    if facts.writable:
        return None
    records = f" or {facts.environment.prefix / 'conda-meta'}" if facts.conda is not None else ""
    return RefusedError(
        f"{facts.interpreter.site_packages}{records} is not writable for this user",
        hint="run as the owner of the environment, or make one of your own: fastinstall setup --new-env ./fast-env",
    )


def _unfinished(facts: Facts) -> FastinstallError | None:
    damaged = next((each for each in facts.past.unreadable if each.transaction), None)
    if damaged is not None:
        out = way_out(damaged, facts.environment.prefix)
        return UsageError(damaged.problem, hint=f"put it away, which deletes nothing: {out}" if out else None)
    if facts.interrupted is None:
        return None
    return RefusedError(
        f"{facts.environment.prefix}: transaction {facts.interrupted} was interrupted",
        hint=f"undo it: fastinstall rollback --yes --prefix {quote(facts.environment.prefix)}",
    )
