from dataclasses import replace

import pytest
from support.values.build_requests import build_step
from support.values.builders import (
    changed,
    conda_facts,
    conda_receipt,
    healthy_conda_facts,
    recipe,
    request,
    stock_facts,
)

from fastinstall.core.errors import RefusedError
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.setup.decide.conda import choose_conda_engine, make_conda_request
from fastinstall.setup.plan import Situation

NOTHING = Releases(sources=(), wheels=(), origin="the package index")


def facts(*, conda: bool = True, rattler: bool = False) -> Facts:
    changes: dict[str, object] = {"toolchain": {"rattler": rattler}}
    return changed(conda_facts(), changes if conda else {**changes, "conda": {"tool": None}})


def chosen(asked: Request, seen: Facts) -> CondaInstaller:
    return choose_conda_engine(Situation(facts=seen, recipe=recipe(), request=asked, releases=NOTHING))


def test_conda_is_used_where_found_and_py_rattler_elsewhere() -> None:
    assert chosen(request(), facts(rattler=True)) is CondaInstaller.CONDA
    assert chosen(request(), facts(conda=False, rattler=True)) is CondaInstaller.RATTLER


def test_what_is_named_is_taken() -> None:
    for engine in (CondaInstaller.CONDA, CondaInstaller.RATTLER, CondaInstaller.PIP):
        assert chosen(replace(request(), engine=engine), facts(rattler=True)) is engine


def test_no_engine_is_needed_for_a_wheel_nor_outside_of_conda() -> None:
    assert chosen(replace(request(), engine=CondaInstaller.PIP), facts(conda=False)) is CondaInstaller.PIP
    assert chosen(request(), stock_facts()) is CondaInstaller.PIP


def test_without_an_engine_there_are_three_ways_out() -> None:
    with pytest.raises(RefusedError) as caught:
        chosen(request(), facts(conda=False))
    for way in ("-m pip install 'fastinstall[conda]'", "CONDA_EXE=", "--engine pip"):
        assert way in (caught.value.hint or "")


def test_what_is_put_back_comes_by_the_engine_of_its_receipt() -> None:
    seen = changed(healthy_conda_facts(), {"toolchain": {"rattler": True}})
    restoring = Situation(
        facts=seen, recipe=recipe(), request=request(), releases=NOTHING, receipt=conda_receipt(), restoring=True
    )
    for engine in (CondaInstaller.CONDA, CondaInstaller.RATTLER, CondaInstaller.PIP):
        made_by = replace(conda_receipt(), engine=engine)
        assert choose_conda_engine(replace(restoring, receipt=made_by)) is engine


def test_a_solver_is_not_asked_where_no_conda_package_is_made() -> None:
    by_pip = replace(request(), engine=CondaInstaller.PIP)
    for seen, asked in ((stock_facts(), request()), (conda_facts(), by_pip)):
        situation = Situation(facts=seen, recipe=recipe(), request=asked, releases=NOTHING)
        assert make_conda_request(situation, build_step()) is None
