"""Who installs into an environment: an engine for conda packages, or our own way with a wheel ("pip"). Pure."""

from fastinstall.errors import FastinstallError, RefusedError, UsageError
from fastinstall.model.conda import Engine
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.model.wish import Wish
from fastinstall.rules.conda_toolchain import install_extra
from fastinstall.rules.pins import NAME
from fastinstall.rules.situation import Situation

_CONDA = "put conda on the PATH, or name it: CONDA_EXE=/path/to/conda"
_WHEEL = "--engine pip puts the wheel straight into site-packages, where conda does not know of it"


def chosen_engine(wish: Wish, facts: Facts) -> Engine:
    """Who installs there: never "auto", and "pip" for what is no conda environment.

    Args:
        wish: may name one.
        facts: say whether a conda executable was found, and whether py-rattler is installed beside fastinstall.

    Raises:
        RefusedError: the one that is named is not there, or none is.
    """
    if not is_conda(facts) or wish.engine is Engine.PIP:
        return Engine.PIP
    there = available_engines(facts)
    if wish.engine is Engine.AUTO and there:
        return there[0]
    if wish.engine not in there:
        raise _lacking(wish.engine, facts)
    return wish.engine


def planned_engine(situation: Situation) -> Engine:
    """Who carries a plan out; what is put back comes by the engine of the receipt, or by any that is left.

    Raises:
        RefusedError: the one that is named is not there, or none is.
    """
    receipt, facts, wish = situation.receipt, situation.facts, situation.wish
    if not situation.restoring or receipt is None or not is_conda(facts):
        return chosen_engine(wish, facts)
    if receipt.engine is Engine.PIP:
        return Engine.PIP
    there = available_engines(facts)
    if not there:
        raise _lacking(Engine.AUTO, facts)
    return receipt.engine if receipt.engine in there else there[0]


def refuse_unsuited_engine(facts: Facts, wish: Wish) -> None:
    """Raise where a wish speaks of conda and the environment, or the way that is wished for, has no use for it.

    Raises:
        UsageError: an engine for conda packages, and no conda environment.
        RefusedError: a pin where there is no conda package, and no wheel named pillow, that it could hold; a wheel
            where conda is marked as the only one that installs.
    """
    prefix = facts.environment.prefix
    if is_conda(facts):
        marker = facts.interpreter.externally_managed
        if marker is not None and wish.engine is Engine.PIP:
            raise RefusedError(
                f"--engine pip: {prefix} is marked as managed by conda alone ({marker}, PEP 668)",
                hint="make conda packages, which conda knows of: --engine auto",
            )
        if wish.pin and wish.engine is Engine.PIP:
            raise RefusedError(
                f"--pin: with --engine pip there is no conda package in {prefix} that a pin could hold",
                hint="leave one of them out: --engine auto makes conda packages, which can be pinned",
            )
        return
    if wish.engine in {Engine.CONDA, Engine.RATTLER}:
        raise UsageError(
            f"--engine {wish.engine}: {prefix} is no conda environment",
            hint=f"leave it out, or name a conda environment: --prefix DIR --engine {wish.engine}",
        )
    if wish.pin and wish.dist_name != NAME:
        raise RefusedError(
            f"--pin: others require {NAME}, so a constraint on {wish.dist_name} holds nothing in {prefix}",
            hint=f"leave one of them out, or name it {NAME}: --dist-name {NAME} --pin",
        )


def is_conda(facts: Facts) -> bool:
    """Whether the environment is one of conda's."""
    return facts.environment.kind is EnvironmentKind.CONDA


def available_engines(facts: Facts) -> tuple[Engine, ...]:
    """The engines that are there, the preferred one first."""
    conda = facts.conda is not None and facts.conda.tool is not None
    rattler = facts.toolchain is not None and facts.toolchain.rattler
    return (*((Engine.CONDA,) if conda else ()), *((Engine.RATTLER,) if rattler else ()))


def _lacking(engine: Engine, facts: Facts) -> FastinstallError:
    extra = install_extra(facts)
    if engine is Engine.CONDA:
        return RefusedError("--engine conda: no conda executable was found", hint=f"{_CONDA}; or --engine auto")
    if engine is Engine.RATTLER:
        return RefusedError("--engine rattler: py-rattler is not installed beside fastinstall", hint=extra)
    return RefusedError(
        f"{facts.environment.prefix} is a conda environment, and there is neither conda nor py-rattler to work on it",
        hint=f"install py-rattler: {extra}; or {_CONDA}; or {_WHEEL}",
    )
