"""A repair also reinstalls packages that have lost files, if a conda engine is used."""

from dataclasses import replace

from support.values.builders import environment, request
from support.values.plans import parts_of

from fastinstall.model.conda import Conda, CondaChange, CondaClaim, CondaClash, CondaInstaller, CondaPackage
from fastinstall.setup.decide.conda import add_reinstallations
from fastinstall.setup.plan import Plan, Skipped
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages, MakeCondaPackages
from fastinstall.setup.steps.swap import InstallGuard

TURBO = CondaPackage(name="libjpeg-turbo", version="2.1.5", build="h0_0")
JPEG = CondaPackage(name="jpeg", version="9e", build="h0_0")
HEADER = "include/jpeglib.h"
CLOBBERED = Conda(
    packages=(JPEG, TURBO),
    unreadable={},
    claims=(
        CondaClaim(dist=JPEG.dist, files=(HEADER,)),
        CondaClaim(dist=TURBO.dist, files=(HEADER,), altered=(HEADER,)),
    ),
    clashes=(CondaClash(path=HEADER, claimants=(JPEG.dist, TURBO.dist), holder=JPEG.dist),),
)
STACK = CondaPackage(name="pillow", version="13.0.0", build="simd_v2v3_py311_0")
MAKING = MakeCondaPackages(
    engine=CondaInstaller.RATTLER,
    package=STACK,
    guard=None,
    channel=environment().prefix / "channel",
    reason="of the test",
)
GUARD = InstallGuard(reason="of the test")


def _plan(*steps: SetupStep) -> Plan:
    skipped = (Skipped(step="change-conda-packages", reason="needless"), Skipped(step="pin", reason="not requested"))
    return Plan(
        environment=environment(),
        facts_digest="",
        request=request(),
        skipped=skipped,
        summary="a plan",
        **parts_of(*steps),
    )


def test_packages_missing_files_are_reinstalled_before_the_stack() -> None:
    made = add_reinstallations(_plan(GUARD, MAKING), CLOBBERED)
    assert [type(step) for step in made.steps] == [ChangeCondaPackages, MakeCondaPackages, InstallGuard]
    (step,) = made.change
    assert step.engine is CondaInstaller.RATTLER
    assert step.change == CondaChange(linked=(TURBO,), unlinked=(TURBO,))
    assert "headers remain" in step.reason
    assert [each.step for each in made.skipped] == ["pin"]


def test_libjpeg_turbo_is_reinstalled_after_all_other_changes() -> None:
    other, tiff = (CondaPackage(name=name, version="4.7.0", build="h0_0") for name in ("zlib", "libtiff"))
    planned = ChangeCondaPackages(
        engine=CondaInstaller.RATTLER, change=CondaChange(linked=(other,)), reason="the solver's"
    )
    library = "lib/libtiff.so.6"
    lost = CondaClaim(dist=tiff.dist, files=(library,), missing=(library,))
    conda = replace(CLOBBERED, packages=(*CLOBBERED.packages, tiff), claims=(*CLOBBERED.claims, lost))
    made = add_reinstallations(_plan(planned, MAKING), conda)
    changes = [step.change for step in made.change]
    assert [[package.name for package in change.linked] for change in changes] == [
        ["zlib"],
        ["libtiff"],
        ["libjpeg-turbo"],
    ]


def test_what_the_solver_replaces_is_not_reinstalled_beside_it() -> None:
    newer = CondaPackage(name="libjpeg-turbo", version="3.0.0", build="h0_0")
    change = CondaChange(linked=(newer,), unlinked=(TURBO,))
    planned = ChangeCondaPackages(engine=CondaInstaller.RATTLER, change=change, reason="the solver's")
    made = add_reinstallations(_plan(planned, MAKING), CLOBBERED)
    assert [step.change for step in made.change] == [change]


def test_without_an_engine_or_lost_files_the_plan_is_unchanged() -> None:
    whole = replace(CLOBBERED, packages=(TURBO,), claims=(), clashes=())
    assert add_reinstallations(_plan(GUARD), CLOBBERED) == _plan(GUARD)
    assert add_reinstallations(_plan(MAKING), whole) == _plan(MAKING)
