"""Which Python, which place and which files an exported plan names."""

from interpreters import running
from sandbox import STOCK, Sandbox

from fastinstall.export.plan_elsewhere import tool_pins


def test_an_environment_that_is_there_gives_its_python_and_its_place(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), pip=False)
    made = sandbox.cli("plan", "--format", "dockerfile", "--prefix", venv.prefix, *STOCK)
    assert made.exit_code == 0, made.text
    assert f"COPY --from=builder {venv.prefix} {venv.prefix}" in made.stdout
    assert f"ARG PYTHON_IMAGE=python:{running()}-slim-bookworm" in made.stdout
    assert not list(venv.prefix.rglob("fastinstall*")), "it is only looked at"


def test_a_python_that_is_not_here_gets_the_official_wheel_that_is_for_it(sandbox: Sandbox) -> None:
    sandbox.root.joinpath("Dockerfile").mkdir()
    words = ("plan", "--format", "dockerfile", "--python", "python3.14", "--new-env", "/opt/e", *STOCK)
    made = sandbox.cli(*words, env={"FASTINSTALL_PIN": "1"})
    assert made.exit_code == 0, made.text
    assert "ARG PYTHON_IMAGE=python:3.14-slim-bookworm" in made.stdout
    assert "-cp314-cp314-" in made.stdout
    assert "UV_CONSTRAINT=/opt/e/" in made.stdout
    unwritable = sandbox.cli(*words, "-o", "Dockerfile")
    assert unwritable.exit_code == 6, unwritable.text
    assert "-o Dockerfile: cannot be written" in unwritable.stderr


def test_pins_name_what_the_tool_needs_and_not_the_tool() -> None:
    names = [pin.partition("==")[0] for pin in tool_pins("3.12")]
    assert {"packaging", "pip", "rich", "unearth"} <= set(names)
    assert "fastinstall" not in names
    assert "iced-x86" not in names, "of an extra"
