"""Root sets up environments, and other users check them: with umask 077, a shared one, and another user's."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.scenes import Scene, make_scene, materials
from support.machine.umask import umask

from fastinstall.core.errors import ExitCode

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for several users")

ALICE, BOB = 4711, 4713


@pytest.fixture
def scene(shared_cache: Path, tmp_path: Path) -> Iterator[Scene]:
    """Yield an environment with Pillow as pip installs it, below directories that all users may enter."""
    space = Path(f"/var/tmp/fastinstall-users-{os.getpid()}-{tmp_path.name[-8:]}")  # noqa: S108 (pytest's is private)
    space.mkdir(mode=0o755)
    yield make_scene("published", space / "scene", materials(shared_cache))
    shutil.rmtree(space)


def packages(scene: Scene) -> Path:
    return next(scene.prefix.glob("lib/python*/site-packages"))


def reads(user: int, scene: Scene) -> bool:
    """Return True if a user may read all files that `import PIL` reads, including the guard's."""
    entries = [
        path for path in packages(scene).iterdir() if path.name.lower().startswith(("pil", "fastinstall", "_fast"))
    ]
    assert len(entries) > 4
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups(())
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            for path in entries:
                for each in (path, *path.rglob("*")):
                    list(each.iterdir()) if each.is_dir() else each.read_bytes()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def looks(prefix: Path) -> dict[str, tuple[int, int, int]]:
    found = {path: path.lstat() for path in prefix.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"}
    return {
        path.relative_to(prefix).as_posix(): (each.st_uid, each.st_gid, each.st_mode) for path, each in found.items()
    }


def judge(scene: Scene) -> tuple[int, str]:
    done = scene.cli("doctor", "pillow-files", "--prefix", str(scene.prefix))
    return done.exit_code, done.text


@pytest.mark.parametrize("mask", [0o077, 0o027])
def test_others_can_use_what_root_has_set_up(scene: Scene, mask: int) -> None:
    before = looks(scene.prefix)
    with umask(mask):
        done = scene.enact()
    assert done.exit_code == ExitCode.OK, done.text
    assert reads(BOB, scene)
    assert judge(scene)[0] == ExitCode.OK
    with umask(mask):
        done = scene.cli("rollback", "--yes", "--prefix", str(scene.prefix))
    assert done.exit_code == ExitCode.OK, done.text
    assert looks(scene.prefix) == before


def test_doctor_names_what_others_cannot_read_and_its_fixes_work(scene: Scene) -> None:
    assert scene.enact().exit_code == ExitCode.OK
    for repair in ("paste", "fix"):
        subprocess.run(("chmod", "-R", "go-rwx", packages(scene) / "PIL", packages(scene) / "pillow.libs"), check=True)
        assert not reads(BOB, scene)
        code, text = judge(scene)
        assert (code, "PIL" in text) == (ExitCode.FINDINGS, True), text
        if repair == "paste":
            command = next(line.strip() for line in text.splitlines() if "chmod -R" in line)
            subprocess.run(shlex.split(command), check=True)
        else:
            fixed = scene.cli("doctor", "--fix", "--yes", "--prefix", str(scene.prefix))
            assert fixed.exit_code == ExitCode.OK, fixed.text
        assert reads(BOB, scene)
        assert judge(scene)[0] == ExitCode.OK


def test_a_user_owns_what_root_has_set_up_in_his_environment(scene: Scene) -> None:
    subprocess.run(("chown", "-R", f"{ALICE}:{ALICE}", scene.prefix), check=True)
    before = looks(scene.prefix)
    with umask(0o077):
        done = scene.enact()
    assert done.exit_code == ExitCode.OK, done.text
    assert {path: look for path, look in looks(scene.prefix).items() if look[:2] != (ALICE, ALICE)} == {}
    subprocess.run(("chown", "-R", "root:root", packages(scene) / "PIL"), check=True)
    text = judge(scene)[1]
    assert "cannot replace PIL" in text
    command = next(line.strip() for line in text.splitlines() if "chown -R" in line)
    subprocess.run(shlex.split(command), check=True)
    theirs = {path: look for path, look in looks(packages(scene)).items() if look[:2] != (ALICE, ALICE)}
    assert theirs == {}
    assert "cannot replace" not in judge(scene)[1]
    while True:
        done = scene.cli("rollback", "--yes", "--prefix", str(scene.prefix))
        if done.exit_code != ExitCode.OK:
            break
    after = {path: look for path, look in looks(scene.prefix).items() if not path.startswith("share")}
    assert {path: look for path, look in after.items() if look != before.get(path)} == {}
