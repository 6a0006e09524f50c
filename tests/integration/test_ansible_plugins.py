"""The collection's modules, run by real Ansible as a series of tasks on one environment."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.ansible.needs import require_ansible
from support.environments.interpreters import running
from support.sandbox import STOCK, NewSandbox, Sandbox, run

COLLECTION = Path(__file__).resolve().parents[2] / "integrations" / "ansible"
BIN = Path(sys.executable).parent
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{ python }}"
  module_defaults:
    group/fastinstall.stack.stack:
      wheelhouse: "{{ wheelhouse }}"
      tool_directory: "{{ tools }}"
  tasks:
%s
"""
_FIND = """
import json, sys
from module_utils.tool import Source, ToolError, find_tool
wheelhouse, tools = sys.argv[1:]
found = find_tool(Source(wheelhouse=wheelhouse, directory=tools))
try:
    find_tool(Source(wheelhouse=wheelhouse, directory=tools, python=sys.executable))
except ToolError as error:
    print(json.dumps([found, error.message]))
"""
OPTIONS = "offline: true, recipe: pillow, level: x86-64-v2"
STORY = {
    "look": ("fastinstall", f"{{new_env: '{{{{ missing }}}}', {OPTIONS}}}", "check_mode: true, diff: true"),
    "look at nothing": ("fastinstall", "{state: absent, prefix: '{{ missing }}'}", ""),
    "make": ("fastinstall", f"{{prefix: '{{{{ env }}}}', {OPTIONS}}}", ""),
    "make again": ("fastinstall", f"{{new_env: '{{{{ env }}}}', {OPTIONS}}}", "diff: true"),
    "check": ("fastinstall", "{state: checked, prefix: '{{ env }}', quick: true}", ""),
    "facts without a file": (
        "fastinstall_facts",
        "{prefix: '{{ env }}', dest: '{{ facts }}.ahead'}",
        "check_mode: true",
    ),
    "facts": ("fastinstall_facts", "{prefix: '{{ env }}', dest: '{{ facts }}'}", ""),
    "damage": ("ansible.builtin.file", "{path: '{{ env }}/{{ image }}', state: absent}", ""),
    "check the damaged": ("fastinstall", "{state: checked, prefix: '{{ env }}', checks: [pillow-files]}", ""),
    "repair": ("fastinstall", f"{{prefix: '{{{{ env }}}}', {OPTIONS}}}", ""),
    "no such recipe": ("fastinstall", "{prefix: '{{ env }}', offline: true, recipe: nowhere}", ""),
    "changed tool": ("fastinstall", "{state: checked, prefix: '{{ env }}', tool_checksum: '00'}", ""),
    "no environment": ("fastinstall", "{}", ""),
    "look at the end": ("fastinstall", "{state: absent, prefix: '{{ env }}'}", "check_mode: true"),
    "end": ("fastinstall", "{state: absent, prefix: '{{ env }}'}", ""),
    "end again": ("fastinstall", "{state: absent, prefix: '{{ env }}'}", ""),
}
"""Tasks by name: module, parameters and keywords."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The results and files of the tasks of `STORY`.

    Attributes:
        results: module results by task name.
        tools: the directory into which fastinstall was unpacked.
        facts: the facts file that was written.
        sandbox: contains all files of the test.
    """

    results: Mapping[str, Any]
    tools: Path
    facts: Path
    sandbox: Sandbox


@pytest.fixture(scope="module")
def told(new_sandbox: NewSandbox) -> Iterator[Scene]:
    """Run the tasks of `STORY` once, and yield their results."""
    with new_sandbox() as sandbox:
        wheelhouse, tools, facts = (sandbox.root / name for name in ("wheelhouse", "tools", "facts.json"))
        built = sandbox.cli("build", "--with-tool", "-o", wheelhouse, "--python", running().executable, *STOCK)
        assert built.exit_code == 0, built.text
        variables = {
            "python": running().executable,
            "wheelhouse": wheelhouse,
            "tools": tools,
            "env": sandbox.venv(running(), pip=False).prefix,
            "missing": sandbox.root / "missing",
            "facts": facts,
            "ahead": f"{facts}.ahead",
            "image": f"lib/python{running()}/site-packages/PIL/Image.py",
        }
        yield Scene(results=play(sandbox, variables), tools=tools, facts=facts, sandbox=sandbox)


def play(sandbox: Sandbox, variables: Mapping[str, object]) -> dict[str, Any]:
    """Run a playbook with the tasks of `STORY`, and return the result of each task."""
    require_ansible(BIN / "ansible-playbook")
    tasks = [
        f"  - {{name: {name}, {_full(module)}: {words}, ignore_errors: true{', ' if keywords else ''}{keywords}}}"
        for name, (module, words, keywords) in STORY.items()
    ]
    (sandbox.root / "play.yml").write_text(PLAY % "\n".join(tasks), encoding="utf-8")
    (sandbox.root / "variables.json").write_text(json.dumps(variables, default=str), encoding="utf-8")
    record = sandbox.root / "record.jsonl"
    own_cache = {"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")}  # an empty cache, as on a fresh host
    settings = {**collections_in(sandbox), **own_cache, "FASTINSTALL_TEST_RECORD": str(record)}
    words = ("-i", "localhost,", "-c", "local", "-e", f"@{sandbox.root / 'variables.json'}", sandbox.root / "play.yml")
    done = run((BIN / "ansible-playbook", *words), sandbox.variables(settings))
    assert done.exit_code == 0, done.text
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["task"]: {"status": line["status"], **line["result"]} for line in lines}


def collections_in(sandbox: Sandbox) -> dict[str, str]:
    """Link the collection into Ansible's search path; return Ansible's settings as environment variables."""
    link = sandbox.root / "collections" / "ansible_collections" / "fastinstall" / "stack"
    if not link.exists():
        link.parent.mkdir(parents=True)
        link.symlink_to(COLLECTION)
    return {
        "ANSIBLE_COLLECTIONS_PATH": str(sandbox.root / "collections"),
        "ANSIBLE_HOME": str(sandbox.root / "ansible"),
        "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).resolve().parents[1] / "support/ansible/callbacks"),
        "ANSIBLE_CALLBACKS_ENABLED": "recorded",
        "ANSIBLE_LOCALHOST_WARNING": "0",
    }


def _full(module: str) -> str:
    return module if "." in module else f"fastinstall.stack.{module}"


def test_check_mode_shows_the_plan_and_diff_and_changes_nothing(told: Scene) -> None:
    look = told.results["look"]
    assert look["status"] == "changed"
    assert look["plan"]["schema"] == "fastinstall.plan/1"
    assert "guard: " in look["diff"]["after"]
    assert "does not exist" in told.results["look at nothing"]["msg"]


def test_a_setup_changes_something_once(told: Scene) -> None:
    made, again = told.results["make"], told.results["make again"]
    assert (made["status"], again["status"]) == ("changed", "ok")
    assert {**made["receipt"], "changed": False} == again["receipt"]
    assert made["receipt"]["schema"] == "fastinstall.receipt/1"
    assert made["receipt"]["request"]["level"] == "x86-64-v2"
    assert again["plan"]["verify"] is None


def test_checks_pass_and_on_damage_fail_with_their_report(told: Scene) -> None:
    well, ill = told.results["check"], told.results["check the damaged"]
    assert well["status"] == "ok"
    assert well["report"]["status"] in {"ok", "hint"}
    assert (ill["status"], ill["exit_code"]) == ("failed", 3)
    assert [finding["check"] for finding in ill["report"]["findings"]] == ["pillow-files"]
    assert "pillow-files: 1 file of pillow" in ill["msg"]
    assert told.results["repair"]["status"] == "changed"


def test_facts_match_inspect_and_check_mode_writes_no_file(told: Scene) -> None:
    facts = told.results["facts"]["ansible_facts"]["fastinstall"]
    assert facts["schema"] == "fastinstall.facts/1"
    assert json.loads(told.facts.read_text(encoding="utf-8")) == facts
    assert not Path(f"{told.facts}.ahead").exists()


def test_the_end_is_the_environment_before_the_first_setup(told: Scene) -> None:
    ahead, end, again = (told.results[name] for name in ("look at the end", "end", "end again"))
    assert [each["status"] for each in (ahead, end, again)] == ["changed", "changed", "ok"]
    assert end["rollback"]["schema"] == "fastinstall.rollback/1"
    assert not list((told.sandbox.root / "env").rglob("PIL"))


@pytest.mark.parametrize(
    ("task", "exit_code", "message", "hint"),
    [
        ("no such recipe", 2, "no recipe is named 'nowhere'", "known: "),
        ("changed tool", 5, "does not match tool_checksum", "copy the wheelhouse again"),
        ("no environment", None, "one of the following is required: prefix, new_env, python", ""),
    ],
)
def test_a_failure_has_the_words_of_fastinstall(
    told: Scene, task: str, exit_code: int | None, message: str, hint: str
) -> None:
    failed = told.results[task]
    assert failed["status"] == "failed"
    assert failed.get("exit_code") == exit_code
    assert message in failed["msg"]
    assert hint in failed.get("hint", "")


def test_fastinstall_was_unpacked_once_and_compiled_only_once(told: Scene) -> None:
    (root,) = told.tools.iterdir()
    assert list(root.glob("lib/python3*/site-packages/fastinstall/cli/__pycache__/main.*.pyc"))
    assert root.stat().st_mode & 0o077 == 0


def test_an_old_python_finds_a_newer_one_or_says_what_it_needs(told: Scene) -> None:
    old = next((path for path in _pythons() if _version_of(path) < (3, 11)), None)
    if old is None:
        pytest.skip("no Python before 3.11 is on this machine")
    words = (old, "-B", "-c", _FIND, told.sandbox.root / "wheelhouse", told.tools)
    late = running().executable.parent
    found = run(words, told.sandbox.variables({"PATH": str(late)}), directory=COLLECTION / "plugins")
    assert found.exit_code == 0, found.text
    tool, objection = found.document
    assert Path(tool[0]).resolve() == running().executable.resolve()
    assert "fastinstall needs 3.11 or later" in objection


def test_the_pages_of_the_modules_can_be_read(sandbox: Sandbox) -> None:
    words = ("fastinstall.stack.fastinstall", "fastinstall.stack.fastinstall_facts")
    shown = run((BIN / "ansible-doc", "--json", *words), sandbox.variables(collections_in(sandbox)))
    assert shown.exit_code == 0, shown.text
    assert shown.stderr == ""
    for page in shown.document.values():
        assert {"doc", "examples", "return"} <= page.keys()
        assert "tool_checksum" in page["doc"]["options"]


def _pythons() -> list[Path]:
    names = ("python3.8", "python3.9", "python3.10")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = (shutil.which(name) for name in names)
    return [*(Path(each) for each in found if each), *sorted(pyenv.glob("versions/*/bin/python3"))]


def _version_of(python: Path) -> tuple[int, ...]:
    words = (python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])")
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in said.split()) or (99,)
