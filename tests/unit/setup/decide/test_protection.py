from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.values.builders import (
    changed,
    conda_facts,
    empty_facts,
    healthy_conda_facts,
    healthy_facts,
    old_conda_facts,
    stock_facts,
)

from fastinstall.core.errors import RefusedError
from fastinstall.doctor.remedies import is_changeable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import ObstacleKind, SetupObstacle
from fastinstall.model.request import Request
from fastinstall.setup.decide.conda import refuse_unsuited_engine
from fastinstall.setup.decide.protection import refuse_if_protected

PREFIX = "/srv/images/env"


def test_an_environment_of_ones_own_is_not_protected() -> None:
    for facts in (healthy_facts(), stock_facts(), empty_facts()):
        refuse_if_protected(facts)
    for facts in (conda_facts(), old_conda_facts(), healthy_conda_facts()):
        refuse_if_protected(facts)


@pytest.mark.parametrize(
    ("kind", "words", "hint"),
    [
        ("leads-out", "leads outside the environment, to /data/lib", "--new-env ./fast-env"),
        ("in-the-way", "is not a directory", f"mv {PREFIX}/share {PREFIX}/share.away"),
        ("mounted", "another filesystem is mounted there", f"findmnt {PREFIX}/share"),
        ("not-writable", "not writable by this user", f"ls -ld {PREFIX}/share"),
        ("immutable", "immutable or append-only", f"chattr -ia {PREFIX}/share"),
        ("noexec", "mounted noexec", f"findmnt -T {PREFIX}/share"),
    ],
)
def test_an_obstacle_is_refused_with_a_way_out(kind: str, words: str, hint: str) -> None:
    leads_to = "/data/lib" if kind == "leads-out" else ""
    obstacle = SetupObstacle(kind=ObstacleKind(kind), place=PurePosixPath(f"{PREFIX}/share"), leads_to=leads_to)
    with pytest.raises(RefusedError, match=words) as caught:
        refuse_if_protected(replace(stock_facts(), obstacles=(obstacle,)))
    assert caught.value.message.startswith(f"{PREFIX}/share: ")
    assert hint in (caught.value.hint or "")


def test_a_conda_only_environment_gets_conda_packages_not_wheels() -> None:
    marker = {"interpreter": {"externally_managed": f"{PREFIX}/lib/python3.11/EXTERNALLY-MANAGED"}}
    facts = changed(conda_facts(), marker)
    refuse_if_protected(facts)
    assert is_changeable(facts)
    for engine in (CondaInstaller.AUTO, CondaInstaller.CONDA, CondaInstaller.RATTLER):
        refuse_unsuited_engine(facts, replace(Request(), engine=engine))
    with pytest.raises(RefusedError, match="managed by conda alone") as caught:
        refuse_unsuited_engine(facts, replace(Request(), engine=CondaInstaller.PIP))
    assert "--engine auto" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"interpreter": {"implementation": "pypy"}}, f"{PREFIX}/bin/python is pypy", "--python python3"),
        (
            {"interpreter": {"externally_managed": "/usr/lib/python3.11/EXTERNALLY-MANAGED"}},
            "belongs to the operating system (/usr/lib/python3.11/EXTERNALLY-MANAGED, PEP 668)",
            f"fastinstall setup --new-env ./fast-env --python {PREFIX}/bin/python",
        ),
        ({"frozen": f"{PREFIX}/conda-meta/frozen"}, f"is frozen ({PREFIX}/conda-meta/frozen)", "clone it"),
        ({"tool_prefix": PREFIX}, f"{PREFIX} is fastinstall's own environment", "--prefix DIR"),
        ({"environment": {"kind": "system"}}, "is not a virtual environment", "fastinstall setup --new-env"),
        ({"writable": False}, "site-packages is not writable by this user", "create your own"),
    ],
    ids=["pypy", "pep-668", "frozen", "own", "system", "read-only"],
)
def test_what_must_not_be_changed_is_refused_with_a_way_out(changes: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse_if_protected(changed(healthy_facts(), changes))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"is_base": True}, f"{PREFIX} is conda's own environment (base)", "fastinstall setup --prefix DIR"),
        (
            {"unreadable": {"$replace": {"b-1-h_0.json": "empty", "a-b-2-h_0.json": "not UTF-8"}}},
            f"{PREFIX}/conda-meta/a-b-2-h_0.json: not UTF-8, and 1 more",
            f"--prefix {PREFIX} --force-reinstall a-b",
        ),
        ({"unreadable": {"$replace": {"odd.json": "empty"}}}, "conda-meta/odd.json: empty: conda's records", "mv "),
        ({"debris": ["lib/a.so.c~", "lib/b.so.c~"]}, "left lib/a.so.c~ and lib/b.so.c~", f"{PREFIX}/lib/a.so.c~"),
    ],
    ids=["base", "unreadable", "unreadable-by-an-odd-name", "interrupted"],
)
def test_what_only_conda_can_mend_is_refused_with_a_way_out(changes: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse_if_protected(changed(conda_facts(), {"conda": changes}))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.exit_code == 5


def test_every_record_that_cannot_be_read_is_named() -> None:
    damaged = changed(
        conda_facts(), {"conda": {"unreadable": {"$replace": {"b.json": "empty", "a.json": "not UTF-8"}}}}
    )
    with pytest.raises(RefusedError) as caught:
        refuse_if_protected(damaged)
    assert caught.value.details == ("a.json: not UTF-8", "b.json: empty")


def test_the_stronger_reason_comes_first() -> None:
    changes = {"environment": {"kind": "conda"}, "frozen": f"{PREFIX}/conda-meta/frozen", "writable": False}
    with pytest.raises(RefusedError, match="is frozen"):
        refuse_if_protected(changed(healthy_facts(), changes))


def test_a_command_in_a_hint_can_be_pasted_whatever_the_path() -> None:
    changes = {"environment": {"kind": "system"}, "interpreter": {"executable": "/opt/my python/bin/python3"}}
    with pytest.raises(RefusedError) as caught:
        refuse_if_protected(changed(healthy_facts(), changes))
    assert "--python '/opt/my python/bin/python3'" in (caught.value.hint or "")
