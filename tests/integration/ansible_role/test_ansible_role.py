"""The role on a fleet: wheels are built once and shipped; hosts with a problem are named, and the others are set up.

All tests share one fleet: each play finds the hosts as the previous play left them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from integration.ansible_role.example_fleet import CHANGES, HEALTHY, PERSON, TOLD, held, machines
from integration.ansible_role.fleet import Fleet, build_fleet
from integration.ansible_role.inside import USER
from integration.ansible_role.machines import network
from integration.ansible_role.plays import Controller, Played
from support.sandbox import NewSandbox, tree_hash
from support.suite import extent

ROLE = "- hosts: fleet\n  gather_facts: false\n  roles: [fastinstall.stack.stack]\n"
KEEP_FACTS, SHIP, SET_UP = "Write the facts for the build", "Ship what this host needs", "Set up the stack"
WHEELS = "home/.local/share/fastinstall/wheelhouse"
ALL = extent.every_row
_NOT_OURS = ("home/.ansible", "log", "etc/")
"""Paths on a disk that Ansible and the machine write themselves."""

Trees = Mapping[str, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The fleet of all tests.

    Attributes:
        controller: runs playbooks on the fleet.
        fleet: the wheels and facts of its hosts.
        bare: the initial state of each environment.
    """

    controller: Controller
    fleet: Fleet
    bare: Trees

    def environments(self) -> Trees:
        """Return the current state of each environment."""
        disks = {name: self.controller.network.disk(name) for name in (*HEALTHY, *TOLD)}
        return {name: tree_hash(disk / "env") for name, disk in disks.items()}

    def disk(self, name: str) -> dict[str, str]:
        """Return all files on a host's disk, except files of Ansible and of the machine itself."""
        tree = tree_hash(self.controller.network.disk(name))
        return {path: content for path, content in tree.items() if not path.startswith(_NOT_OURS)}


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[Scene]:
    with new_sandbox() as sandbox:
        fleet = build_fleet(sandbox, (*HEALTHY, *TOLD), CHANGES)
        with network(machines(sandbox.root), sandbox) as hosts:
            controller = Controller(network=hosts, variables=fleet.variables)
            started = Scene(controller=controller, fleet=fleet, bare={})
            yield Scene(controller=controller, fleet=fleet, bare=started.environments())


@pytest.fixture(scope="module")
def looked_ahead(scene: Scene) -> tuple[Played, bool]:
    """Run the role in check mode on one host; return the play, and whether the host is unchanged."""
    before = scene.disk("web1")
    played = scene.controller.play(ROLE, "--check", "--diff", "--limit", "web1")
    return played, scene.disk("web1") == before


@pytest.fixture(scope="module")
def rolled_out(scene: Scene, looked_ahead: object) -> tuple[Played, Trees]:
    """Run the role on all hosts at once; return the play and the environments after it."""
    del looked_ahead  # the argument only ensures that this fixture runs first
    with held(scene.controller.network.disk("busy") / "env"):
        played = scene.controller.play(ROLE)
    return played, scene.environments()


@pytest.fixture(scope="module")
def by_oneself(scene: Scene, rolled_out: object) -> tuple[Controller, Played]:
    """Run the role on web3 for an environment in the home of an ordinary user, who never becomes root."""
    del rolled_out
    variables = {**scene.fleet.variables, "ansible_become": False, "fastinstall_new_env": "~/images"}
    del variables["fastinstall_prefix"]
    controller = replace(scene.controller, variables=variables)
    return controller, controller.play(ROLE, "--limit", "web3")


@pytest.fixture(scope="module")
def repeated(scene: Scene, rolled_out: object) -> Played:
    """Damage a wheel on web3, and run the role a second time."""
    del rolled_out
    wheel = next(scene.controller.network.disk("web3").glob(f"{WHEELS}/pillow-*.whl"))
    content = bytearray(wheel.read_bytes())
    content[len(content) // 2] ^= 1
    wheel.write_bytes(content)
    return scene.controller.play(ROLE, "--limit", ",".join(HEALTHY))


def test_check_mode_tells_what_would_be_sent_and_changes_nothing(looked_ahead: tuple[Played, bool]) -> None:
    played, is_unchanged = looked_ahead
    assert played.exit_code == 0, played.text
    assert is_unchanged
    assert played.statuses(SHIP) == {"web1": "changed"}
    assert "+pillow-" in played.text
    assert "+tool/fastinstall-" in played.text


def test_hosts_without_index_or_compiler_are_set_up_and_healthy(scene: Scene, rolled_out: tuple[Played, Trees]) -> None:
    played, _ = rolled_out
    assert set(played.failures) == set(TOLD), played.text
    for task, status in ((SHIP, "changed"), (SET_UP, "changed")):
        statuses = played.statuses(task)
        assert {host: statuses[host] for host in HEALTHY} == dict.fromkeys(HEALTHY, status), played.text
    for host in HEALTHY:
        (report,) = (outcome.result["report"] for outcome in played.of(host) if SET_UP in outcome.task)
        assert report["status"] in {"ok", "hint"}, report
        assert list(scene.controller.network.disk(host).glob("env/lib/python3*/site-packages/PIL/_imaging.*.so"))


@pytest.mark.parametrize("host", TOLD)
def test_a_faulty_host_is_named_with_the_reason_and_unchanged(
    scene: Scene, rolled_out: tuple[Played, Trees], host: str
) -> None:
    played, after = rolled_out
    told = played.failures[host].told
    assert [words for words in TOLD[host] if words not in told] == [], told
    assert after[host] == scene.bare[host]


def test_a_host_gets_the_wheels_that_fit_it_and_no_others(scene: Scene, rolled_out: object) -> None:
    del rolled_out
    there = {path.name for path in (scene.controller.network.disk("web1") / WHEELS).rglob("*.whl")}
    here = {path.name for path in scene.fleet.wheelhouse.rglob("*.whl")}
    assert there < here
    assert len([name for name in there if name.startswith("pyyaml-")]) == 1


def test_under_sudo_nothing_installed_belongs_to_the_login_user(scene: Scene, rolled_out: object) -> None:
    del rolled_out
    disk = scene.controller.network.disk("web3")
    assert _owners(disk / "env") == _owners(disk / WHEELS) == {0}
    assert _owners(disk / PERSON) == {USER}
    assert {path.name for path in (disk / PERSON).iterdir()} <= {".ansible", "images", ".cache", ".local"}


def test_a_user_gets_their_own_environment_without_root(scene: Scene, by_oneself: tuple[Controller, Played]) -> None:
    _, played = by_oneself
    assert played.exit_code == 0, played.text
    (report,) = (outcome.result["report"] for outcome in played.of("web3") if SET_UP in outcome.task)
    assert report["status"] in {"ok", "hint"}, report
    home = scene.controller.network.disk("web3") / PERSON
    assert list(home.glob("images/lib/python3*/site-packages/PIL/_imaging.*.so"))
    assert _owners(home) == {USER}


@pytest.mark.skipif(not ALL, reason="what a host with something wrong says is shown above: --every-row")
def test_another_users_environment_is_refused_and_left_unchanged(
    scene: Scene, by_oneself: tuple[Controller, Played]
) -> None:
    controller, _ = by_oneself
    environment = scene.controller.network.disk("web3") / "env"
    before = tree_hash(environment)
    variables = {name: value for name, value in controller.variables.items() if name != "fastinstall_new_env"}
    played = replace(controller, variables=variables).play(ROLE, "--limit", "web3", fastinstall_prefix="/media/env")
    assert "site-packages is not writable" in played.failures["web3"].told, played.text
    assert tree_hash(environment) == before


@pytest.mark.skipif(not ALL, reason="the others show most of it: --every-row")
def test_a_user_can_repeat_roll_back_and_set_up_as_root_too(
    scene: Scene, by_oneself: tuple[Controller, Played]
) -> None:
    controller, _ = by_oneself
    disk = scene.controller.network.disk("web3")
    assert controller.play(ROLE, "--limit", "web3").changed == set()
    undone = controller.play("fastinstall.stack.rollback", "--limit", "web3")
    assert undone.changed == {"web3"}, undone.text
    assert not list((disk / PERSON).glob("images/lib/python3*/site-packages/PIL"))
    made = controller.play(ROLE, "--limit", "web3", ansible_become=True, fastinstall_new_env="/opt/images")
    assert made.changed == {"web3"}, made.text
    assert _owners(disk / "opt") == {0}
    assert list(disk.glob("opt/images/lib/python3*/site-packages/PIL/_imaging.*.so"))


def test_a_second_run_changes_nothing(repeated: Played) -> None:
    assert repeated.exit_code == 0, repeated.text
    assert repeated.changed <= {"web3"}
    assert repeated.statuses(SET_UP) == dict.fromkeys(HEALTHY, "ok")


def test_a_changed_wheel_on_a_host_is_noticed_by_hash_and_resent(repeated: Played) -> None:
    (shipped,) = (outcome for outcome in repeated.of("web3") if SHIP in outcome.task)
    assert shipped.status == "changed"
    (sent,) = shipped.result["missing"]
    assert sent.startswith("pillow-")


def test_the_rollout_stops_when_more_hosts_fail_than_allowed(scene: Scene, repeated: object) -> None:
    """The first of three hosts succeeds, the second fails because of its old CPU, so the third is never reached."""
    del repeated
    hosts = {"fleet_hosts": "web1:old-cpu:web2", "fleet_serial": 1, "fleet_max_fail_percentage": 0}
    seen = scene.fleet.facts.with_name("seen")  # the role creates this directory
    built = {"fastinstall_facts": str(seen), "fastinstall_build_arguments": ["--offline"]}
    played = scene.controller.play("fastinstall.stack.site", **hosts, **built)
    assert played.exit_code != 0
    assert played.statuses(KEEP_FACTS) == dict.fromkeys(("web1", "old-cpu", "web2"), "ok"), played.text
    assert set(played.failures) == {"old-cpu"}, played.text
    assert "sse4_2 for x86-64-v2" in played.failures["old-cpu"].told
    assert played.statuses(SHIP) == {"web1": "ok", "old-cpu": "failed"}


def test_rollback_puts_an_environment_back_as_it_was(scene: Scene, repeated: object) -> None:
    del repeated
    played = scene.controller.play("fastinstall.stack.rollback", "--limit", "web3")
    assert played.exit_code == 0, played.text
    assert played.changed == {"web3"}
    assert scene.environments()["web3"] == scene.bare["web3"]


def _owners(directory: Path) -> set[int]:
    """Return the user IDs that own the files in a directory."""
    return {path.lstat().st_uid for path in (directory, *directory.rglob("*"))}
