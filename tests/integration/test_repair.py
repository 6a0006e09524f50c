"""doctor --fix on an environment with our stack, after any damage: from the cache, offline, in one transaction.

The tests do several kinds of damage at once; other tests (damage_cases) check that each kind is reported.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.environments.guarded import make_wheel
from support.environments.interpreters import of_version, running
from support.environments.real import OTHER_VERSION, Environments
from support.environments.verdicts import alarms, examined
from support.index.wheels import stub_wheel
from support.sandbox import UNREACHABLE, Result, Sandbox, Venv, run, tree_hash

from fastinstall.doctor.intent import InstallRequest, read_install_request
from fastinstall.journal.store import JournalStore
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import open_session
from fastinstall.observe.stack import observe_distributions
from fastinstall.verbs.repair import plan_repair

pytest_plugins = ("support.environments.fixtures",)

Damage = Callable[[Venv], None]


def lost_files(venv: Venv) -> None:
    """Truncate, delete and add files of the stack, and delete RECORD and half of the guard."""
    site = venv.site_packages
    os.truncate(venv.core, venv.core.stat().st_size // 2)
    shutil.copy2(next(site.glob("PIL/_webp.*.so")), site / f"PIL/_stray{venv.core.name.removeprefix('_imaging')}")
    (site / "PIL/__init__.py").unlink()
    next(site.glob("pillow.libs/libtiff*")).unlink()
    next(site.glob("pillow-*.dist-info")).joinpath("RECORD").unlink()
    (site / "fastinstall_guard.pth").unlink()


def wreck_of_an_installer(venv: Venv) -> None:
    """Damage the environment as killed installers do: our stack is moved aside, metadata of another version is left."""
    site = venv.site_packages
    (site / "PIL").rename(site / "~IL")
    next(site.glob("pillow-*.dist-info")).rename(site / "~illow-13.0.0.dist-info")
    other = site / "pillow-9.0.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: pillow\nVersion: 9.0.0\n")
    (other / "RECORD").write_text("PIL/Image.py,,\npillow-9.0.0.dist-info/METADATA,,\n")


@pytest.mark.main
@pytest.mark.parametrize("damage", [lost_files, wreck_of_an_installer])
def test_damages_are_repaired_from_the_cache_in_one_transaction(environments: Environments, damage: Damage) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    before = _core(venv)
    damage(venv)
    fixed = _fix(sandbox, venv)
    assert fixed.exit_code == 0, fixed.text
    assert alarms(tuple(fixed.document["findings"])) == {}
    assert _core(venv) == before
    assert len(JournalStore(venv.prefix).transactions()) == 2
    assert not list(venv.site_packages.glob("~*"))


def test_a_guard_is_renewed_alone_by_the_repair_and_by_a_setup(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    guard, pil = venv.site_packages / "_fastinstall_guard", (venv.site_packages / "PIL").stat().st_ino
    shutil.rmtree(guard / "__pycache__")
    hook = guard / "__init__.py"
    hook.write_text(hook.read_text().replace('VERSION = "', 'VERSION = "0.'))
    (guard / "state").write_text("nonsense")
    fixed = _fix(sandbox, venv)
    assert (fixed.exit_code, alarms(tuple(fixed.document["findings"]))) == (0, {}), fixed.text
    (venv.site_packages / "fastinstall_guard.pth").unlink()
    again = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, env=UNREACHABLE)
    assert again.exit_code == 0, again.text
    assert "done: renew the start-up guard" in again.stdout
    assert (venv.site_packages / "PIL").stat().st_ino == pil, "PIL was not exchanged"
    assert len(JournalStore(venv.prefix).transactions()) == 3


def test_a_python_that_changed_gets_a_build_of_the_same_version(environments: Environments) -> None:
    """`venv --upgrade` linked the environment to a newer Python, for which the receipt's wheel is not built."""
    later = of_version("3.12")
    if later is None or str(running()) == "3.12":
        pytest.skip("this machine has no second Python")
    venv, sandbox = environments.copy("ours"), environments.sandbox
    for link in venv.prefix.glob("bin/python*"):
        link.unlink()
    run((later.executable, "-m", "venv", "--upgrade", "--without-pip", venv.prefix), sandbox.variables())
    before = JournalStore(venv.prefix).read_receipt()
    fixed = sandbox.cli("doctor", "--fix", "--yes", "--json", "--prefix", venv.prefix)
    assert fixed.exit_code == 0, fixed.text
    assert alarms(tuple(fixed.document["findings"])) == {}
    after = JournalStore(venv.prefix).read_receipt()
    assert before is not None
    assert after is not None
    assert (after.version, after.levels) == (before.version, before.levels)
    assert "-cp312-" in after.wheel
    assert venv.run("-c", "import PIL; print(PIL.__version__)").stdout.strip() == after.stack_version


def test_a_symlinked_pil_is_restored_though_its_files_are_ours(environments: Environments) -> None:
    venv = environments.copy("ours")
    elsewhere = venv.prefix / "elsewhere"
    (venv.site_packages / "PIL").rename(elsewhere)
    (venv.site_packages / "PIL").symlink_to(elsewhere)
    session = open_session(environments.sandbox.variables(UNREACHABLE))
    planned = plan_repair(session, find_environment(session, NamedTarget(prefix=venv.prefix)), Request())
    assert planned.swap is not None
    assert "PIL" in planned.swap.entries


def test_other_times_of_files_are_no_damage(environments: Environments) -> None:
    venv = environments.copy("ours")
    for file in venv.site_packages.glob("PIL/*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    fixed = _fix(environments.sandbox, venv)
    assert (fixed.exit_code, len(JournalStore(venv.prefix).transactions())) == (0, 1), fixed.text


def test_a_record_that_cannot_be_read_says_what_to_do(environments: Environments) -> None:
    venv = environments.copy("ours")
    receipt = JournalStore(venv.prefix).receipt_file
    receipt.write_text(receipt.read_text()[:100])
    fixed = _fix(environments.sandbox, venv)
    assert fixed.exit_code == 2
    assert f"mv {receipt} {receipt}.damaged; fastinstall setup --prefix {venv.prefix}" in fixed.stderr


def test_a_deliberate_later_pillow_is_accepted_or_allowed_to_go(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    wheel = make_wheel(sandbox.root, "99.0.0")
    told = venv.pip("install", "--quiet", "--no-deps", "--no-index", str(wheel))
    assert told.exit_code == 0, told.text
    swapped = tree_hash(venv.prefix)

    refused = _fix(sandbox, venv)
    assert refused.exit_code == 5, refused.text
    assert "pillow 99.0.0 " in refused.stderr
    assert "requested by name" in refused.stderr
    assert "cannot be built" in refused.stderr
    assert tree_hash(venv.prefix) == swapped

    accept, back = (_printed(refused, words) for words in ("guard accept", "doctor --fix --allow"))
    unasked = sandbox.cli(*accept)
    assert (unasked.exit_code, tree_hash(venv.prefix)) == (5, swapped)
    accepted = sandbox.cli(*accept, "--yes")
    assert accepted.exit_code == 0, accepted.text
    _is_accepted(sandbox, venv)
    undone = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix)
    assert (undone.exit_code, tree_hash(venv.prefix)) == (0, swapped), undone.text

    fixed = sandbox.cli(*back, "--yes", "--json", env=UNREACHABLE)
    assert (fixed.exit_code, alarms(tuple(fixed.document["findings"]))) == (0, {}), fixed.text
    assert sandbox.cli("guard", "accept", "--yes", "--prefix", venv.prefix).stdout.startswith("nothing to accept")


def test_a_deliberate_later_pillow_gets_the_kernels_if_possible(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    _pretend_an_earlier_setup(venv)
    assert venv.pip("install", "--quiet", "--force-reinstall", "--no-deps", "pillow").exit_code == 0
    fixed = _fix(sandbox, venv, network=True)
    assert (fixed.exit_code, alarms(tuple(fixed.document["findings"]))) == (0, {}), fixed.text
    receipt = JournalStore(venv.prefix).read_receipt()
    assert receipt is not None
    assert (receipt.source_version, receipt.request.version) == (environments.version, environments.version)
    assert len(JournalStore(venv.prefix).transactions()) == 2


def test_repairing_a_forced_vulnerable_version_needs_no_consent(
    environments: Environments,
) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    metadata = venv.site_packages / "gradio-5.49.1.dist-info"
    metadata.mkdir()
    text = f"Metadata-Version: 2.1\nName: gradio\nVersion: 5.49.1\nRequires-Dist: pillow=={OTHER_VERSION}\n"
    (metadata / "METADATA").write_text(text)
    assert venv.pip("install", "--quiet", "--no-deps", f"pillow=={OTHER_VERSION}").exit_code == 0

    session = open_session(sandbox.variables())
    planned = plan_repair(session, find_environment(session, NamedTarget(prefix=venv.prefix)), Request())
    assert (planned.request.version, planned.risks) == (OTHER_VERSION, ())
    assert "has no fewer" in planned.warnings[1]

    (told,) = (each for each in examined(sandbox, "--prefix", venv.prefix) if "affect Pillow" in each["message"])
    assert told["remedy"]["command"] == f"fastinstall guard accept --prefix {venv.prefix}"
    assert told["remedy"]["text"].startswith(f"gradio 5.49.1 requires pillow=={OTHER_VERSION}, which keeps Pillow ")


def test_pip_records_what_was_requested_by_name_and_uv_does_not(sandbox: Sandbox) -> None:
    venv, wheel = sandbox.venv(running(), pip=False), make_wheel(sandbox.root, "13.0.0")
    requirements = sandbox.root / "requirements.txt"
    requirements.write_text(f"viewer @ {_dependant(sandbox.root).as_uri()}\n")
    links = ("--quiet", "--no-index", "--find-links", str(sandbox.root))
    assert venv.pip("install", *links, "-r", str(requirements)).exit_code == 0
    assert _asked(venv) == {"pillow": InstallRequest.ALONG, "viewer": InstallRequest.BY_NAME}
    assert venv.pip("install", *links, "--force-reinstall", str(wheel)).exit_code == 0
    assert _asked(venv)["pillow"] is InstallRequest.BY_NAME
    assert venv.uv("install", *links, "--reinstall", "viewer").exit_code == 0
    assert _asked(venv) == dict.fromkeys(("pillow", "viewer"), InstallRequest.UNTOLD)
    assert all(found.requested for found in observe_distributions(venv.site_packages)), "uv says so of everything"


def _asked(venv: Venv) -> dict[str, InstallRequest]:
    return {found.name: read_install_request(found) for found in observe_distributions(venv.site_packages)}


def _dependant(directory: Path) -> Path:
    """Return a wheel that requires Pillow."""
    name, content = stub_wheel("viewer", "1.0", "pillow")
    (directory / name).write_bytes(content)
    return directory / name


def _pretend_an_earlier_setup(venv: Venv) -> None:
    """Change the version in our receipt, as if an earlier version had been set up; this saves a second build."""
    file = JournalStore(venv.prefix).receipt_file
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "source_version": OTHER_VERSION}))


def _printed(result: Result, words: str) -> tuple[str, ...]:
    """Return the arguments of the printed command that begins with `words`."""
    found = re.search(rf"fastinstall ({re.escape(words)}.*)$", result.stderr, re.MULTILINE)
    assert found, result.stderr
    return tuple(shlex.split(found[1]))


def _core(venv: Venv) -> bytes:
    return venv.core.read_bytes()


def _fix(sandbox: Sandbox, venv: Venv, *, network: bool = False) -> Result:
    words = ("doctor", "--fix", "--yes", "--json", "--prefix", venv.prefix)
    return sandbox.cli(*words, env=None if network else UNREACHABLE)


def _is_accepted(sandbox: Sandbox, venv: Venv) -> None:
    findings = examined(sandbox, "--quick", "--prefix", venv.prefix)
    assert {found["status"] for found in findings if found["check"] in ("swapped", "guards")} == {"skipped"}
    assert not list(venv.site_packages.glob("*fastinstall*"))
    assert venv.run("-c", "import PIL; print(PIL.__version__)") == Result(exit_code=0, stdout="99.0.0\n", stderr="")
