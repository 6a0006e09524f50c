"""The activate.d scripts in real shells: silent for a healthy stack, one warning if it changed, never a failure."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fastinstall.core.directories import hooks_directory
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import GUARD_STATE, render_state

CORE = "PIL/_imaging.cpython-311-x86_64-linux-gnu.so"
STACK = "12.1.1.post0"
NAMES = {"bash": (), "dash": (), "zsh": ("-f",), "ksh93": (), "mksh": (), "busybox": ("sh",), "fish": ("--no-config",)}
SHELLS = [name for name in NAMES if shutil.which(name)]
"""Shells on this machine; Debian always has the first two."""

WITHOUT_PROGRAMS = [name for name in SHELLS if name != "busybox"]
"""Shells without a built-in `stat`."""

POSIX = [name for name in SHELLS if name != "fish"]
STRICT = {"posix": 'set -eu; . "$1"; echo activated; set', "fish": "source $argv[1]; echo activated; set; functions"}


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """A conda environment that has only the files that the activate.d script reads, and no Python."""

    directory: Path

    @property
    def site(self) -> Path:
        return self.directory / "lib/python3.11/site-packages"

    def write(self, name: str, content: bytes) -> Path:
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def put_pil(self, version: str, core: bytes) -> None:
        """Write a PIL as an installer does."""
        self.write(f"lib/python3.11/site-packages/{CORE}", core)
        (self.site / "PIL/_version.py").write_text(f'# Master version\n\n__version__ = "{version}"\n')

    def half_swap(self, version: str) -> None:
        """Write a PIL without its core, as an installer leaves it in the middle of its work."""
        self.put_pil(version, b"")
        (self.site / CORE).unlink()

    def guard(self, program: str = "fastinstall") -> None:
        """Write the guard's state file for the current core, as setup does."""
        file = self.site / CORE
        status = file.stat()
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        core = BuiltCore(
            path=CORE, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=digest, simd_symbols=("one",)
        )
        (self.site / GUARD_STATE).parent.mkdir(exist_ok=True)
        (self.site / GUARD_STATE).write_text(render_state(self.site, core, STACK, program))

    def activate(self, shell: str, script: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run `script`; by default, source the activate.d script with strict settings and print all variables."""
        kind = "fish" if shell == "fish" else "posix"
        hook = hooks_directory() / "conda" / ("fastinstall.fish" if kind == "fish" else "fastinstall.sh")
        argv = [shell, *NAMES[shell], "-c", script or STRICT[kind]]
        kept = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "CONDA_PREFIX": str(self.directory)}
        words = [hook] if kind == "fish" else [shell, hook]
        return subprocess.run(
            [*argv, *words], env={**kept, **variables}, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def prefix(tmp_path: Path) -> Prefix:
    """Return an environment with our stack and guard."""
    made = Prefix(directory=tmp_path / "env with späces")
    made.put_pil(STACK, b"\x7fELF core with SIMD kernels")
    made.guard()
    return made


def _warning(prefix: Prefix, story: str, command: str = "doctor --fix", program: str = "fastinstall") -> str:
    quoted = f"'{prefix.directory}'"
    return f"fastinstall: {story}\nhint: {program} {command} --prefix {quoted}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_healthy_stack_activates_silently_and_leaves_nothing(prefix: Prefix, shell: str) -> None:
    done = prefix.activate(shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "activated\n" in done.stdout
    assert "_fastinstall" not in done.stdout


DAMAGE: dict[str, Callable[[Prefix], object]] = {
    "was replaced with Pillow 13.0.0": lambda prefix: prefix.put_pil("13.0.0", b"\x7fELF stock"),
    "was replaced with another build": lambda prefix: prefix.put_pil(STACK, b"\x7fELF of the same version"),
    "was replaced with Pillow 9.5.0": lambda prefix: prefix.half_swap("9.5.0"),
    "was removed": lambda prefix: shutil.rmtree(prefix.site / "PIL"),
    "is incomplete": lambda prefix: (prefix.site / CORE).unlink(),
    "is mixed with files of Pillow 9.5.0": lambda prefix: (prefix.site / "PIL/_version.py").write_text(
        '__version__ = "9.5.0"'
    ),
    "is mixed with files of Pillow ?": lambda prefix: (prefix.site / "PIL/_version.py").unlink(),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("story", DAMAGE)
def test_what_became_of_the_stack_is_told_with_the_command(prefix: Prefix, shell: str, story: str) -> None:
    DAMAGE[story](prefix)
    done = prefix.activate(shell)
    assert done.returncode == 0
    assert done.stderr == _warning(prefix, f"the fast Pillow {STACK} in {prefix.directory} {story}")
    assert "activated\n" in done.stdout
    assert "_fastinstall" not in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_hint_names_the_program_as_it_was_called_at_setup(prefix: Prefix, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "bootstrap.sh"
    script.touch()
    prefix.guard(f"sh {script}")
    prefix.put_pil("13.0.0", b"\x7fELF stock")
    story = f"the fast Pillow {STACK} in {prefix.directory} was replaced with Pillow 13.0.0"
    assert prefix.activate(shell).stderr == _warning(prefix, story, program=f"sh {script}")
    script.unlink()
    assert prefix.activate(shell).stderr == _warning(prefix, story)
    prefix.put_pil(STACK, b"\x7fELF core with SIMD kernels")
    prefix.guard(f"sh '{tmp_path}/my tools/boot.sh'")
    prefix.put_pil("13.0.0", b"\x7fELF stock")
    assert prefix.activate(shell).stderr == _warning(prefix, story, program=f"sh '{tmp_path}/my tools/boot.sh'")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_same_bytes_with_other_times_are_healthy(prefix: Prefix, shell: str) -> None:
    os.utime(prefix.site / CORE, (1, 1))
    assert prefix.activate(shell).stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_variable_switches_it_off(prefix: Prefix, shell: str) -> None:
    shutil.rmtree(prefix.site / "PIL")
    assert prefix.activate(shell, FASTINSTALL_GUARD="0").stderr == ""
    assert prefix.activate(shell, FASTINSTALL_GUARD="1").stderr != ""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "state", [b"", b"\n\n", b"1\ncore a\n", b"1\ncore\nversion\nstack\n", b"\xff\xfe\x00" * 9, b"1\n" * 999]
)
def test_a_state_that_cannot_be_read_is_no_reason_to_fail(prefix: Prefix, shell: str, state: bytes) -> None:
    (prefix.site / GUARD_STATE).write_bytes(state)
    done = prefix.activate(shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "activated\n" in done.stdout


@pytest.mark.parametrize("shell", WITHOUT_PROGRAMS)
def test_without_the_programs_that_it_asks_it_is_silent(prefix: Prefix, shell: str, tmp_path: Path) -> None:
    (tmp_path / shell).symlink_to(shutil.which(shell) or "")
    prefix.put_pil("13.0.0", b"\x7fELF stock")
    done = prefix.activate(shell, PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_stack_installed_only_by_conda_is_judged_by_its_record(tmp_path: Path, shell: str) -> None:
    prefix = Prefix(directory=tmp_path / "env")
    prefix.write("conda-meta/fastinstall-guard-1-0.json", b"{}")
    record = prefix.write("conda-meta/pillow-13.0.0-simd_v2v3_py311_0.json", b"{}")
    installer = prefix.write("lib/python3.11/site-packages/pillow-13.0.0.dist-info/INSTALLER", b"conda\n")
    (prefix.directory / "lib/python3.1").symlink_to("python3.11")
    assert prefix.activate(shell).stderr == ""
    installer.write_text("pip")
    named = f"fastinstall: the Pillow with SIMD kernels in {prefix.directory}"
    hint = f"hint: fastinstall doctor --prefix {prefix.directory}"
    assert prefix.activate(shell).stderr == f"{named} was replaced by pip\n{hint}\n"
    record.rename(record.with_name("pillow-13.0.0-py311h0_0.json"))
    unrecorded = "is no longer what conda has on record"
    assert prefix.activate(shell).stderr == f"{named} {unrecorded}\n{hint}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_link_to_a_later_python_is_not_looked_at_twice(prefix: Prefix, shell: str) -> None:
    (prefix.directory / "lib/python3.1").symlink_to("python3.11")
    shutil.rmtree(prefix.site / "PIL")
    assert prefix.activate(shell).stderr.count("fastinstall: ") == 1


@pytest.mark.parametrize("shell", WITHOUT_PROGRAMS)
def test_a_healthy_activation_starts_no_program_but_stat(prefix: Prefix, shell: str, tmp_path: Path) -> None:
    log = tmp_path / "started"
    for name in ("stat", "sha256sum", "python", "python3", "sed", "cat", "ls"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho {name} >>"{log}"\nexec "{shutil.which(name)}" "$@"\n')
        program.chmod(0o755)
    prefix.activate(shell, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert log.read_text() == "stat\n"


@pytest.mark.parametrize("options", ["set -f", "IFS=:", "alias stat=false; alias command=false", "shopt -s nullglob"])
def test_what_a_bash_is_set_to_does_not_matter(prefix: Prefix, options: str) -> None:
    script = f'{options}; . "$1"; echo activated'
    assert prefix.activate("bash", script).stderr == ""
    if options != "set -f":
        shutil.rmtree(prefix.site / "PIL")
        assert "was removed" in prefix.activate("bash", script).stderr


def test_failglob_in_bash_does_not_fail_the_activation(prefix: Prefix) -> None:
    script = 'shopt -s failglob; set -eu; . "$1"; echo activated'
    assert prefix.activate("bash", script).stdout == "activated\n"


@pytest.mark.parametrize("shell", POSIX)
def test_options_and_arguments_of_the_shell_stay_as_they_were(prefix: Prefix, shell: str) -> None:
    script = 'hook=$1; set -- one two; before="$- $IFS"; . "$hook"; [ "$before" = "$- $IFS" ] && echo "$#"'
    assert prefix.activate(shell, script).stdout == "2\n"


@pytest.mark.parametrize("name", ["fastinstall.sh", "fastinstall.fish"])
def test_each_script_says_who_put_it_there_and_how_to_remove_it(name: str) -> None:
    text = (hooks_directory() / "conda" / name).read_text(encoding="ascii")
    assert text.startswith("# Put here by fastinstall")
    assert "FASTINSTALL_GUARD=0" in text
    assert "fastinstall guard remove --prefix" in text
    assert "\n# Version 1\n" in text
