"""doctor in scripts: with --quiet, it prints one line for each broken environment."""

from support.environments.interpreters import running
from support.environments.site_packages import PIL_FILES, install
from support.sandbox import Sandbox

from fastinstall.core.errors import ExitCode


def test_quiet_doctor_prints_a_line_per_broken_environment(sandbox: Sandbox) -> None:
    place = "home/.virtualenvs"
    broken = sandbox.venv(running(), tool="uv", name=f"{place}/broken", pip=False)
    # the fake Pillow's core is no ELF file, which is an error
    install(broken.site_packages, "pillow", "13.0.0", PIL_FILES)
    gone = sandbox.venv(running(), tool="uv", name=f"{place}/gone", pip=False)
    install(gone.site_packages, "pillow", "13.0.0", PIL_FILES)
    gone.python.unlink()
    gone.python.symlink_to("/nowhere/python3")
    told = sandbox.cli("doctor", "--all", "--quick", "--quiet")
    assert told.exit_code == ExitCode.FINDINGS
    (line,) = told.stdout.splitlines()
    assert line.startswith(f"{broken.prefix}: error: ")
    assert str(broken.prefix) in line.rpartition("; ")[2]
    assert told.stderr == ""

    sandboxed = ("--quick", "--quiet", "--prefix")
    assert sandbox.cli("doctor", "environment", *sandboxed, broken.prefix).text == ""
    undetermined = sandbox.cli("doctor", *sandboxed, gone.prefix)
    assert undetermined.exit_code == ExitCode.UNDETERMINED
