"""The part of a plan that is about the project which makes the environment: its pin, or a word of warning. Pure."""

from fastinstall.model.immutable import immutable
from fastinstall.model.pins import Project
from fastinstall.model.steps import Build, PinProject
from fastinstall.rules.messages import quote
from fastinstall.rules.situation import Situation


@immutable
class ProjectPart:
    """What a plan has more where a project makes the environment; all of it empty elsewhere.

    Attributes:
        steps: that pin it there, after everything else.
        warnings: that the project's own installs undo the setup.
    """

    steps: tuple[PinProject, ...] = ()
    warnings: tuple[str, ...] = ()


def project_part(situation: Situation, build: Build) -> ProjectPart:
    """What a plan has more, for what is built."""
    project = situation.project
    if project is None:
        return ProjectPart()
    if situation.wish.pin:
        return ProjectPart(steps=(_step(project, build),))
    return ProjectPart() if _is_pinned(situation, project) else ProjectPart(warnings=(_warning(situation, project),))


def _step(project: Project, build: Build) -> PinProject:
    return PinProject(
        directory=project.directory,
        manager=project.manager,
        files=tuple(file for file in (project.manifest, project.lock) if file is not None),
        requirement=f"{build.distribution}=={build.version}",
        reason=f"--pin: `{project.sync}` makes the environment of these files, and keeps what they name; "
        "tried on a copy first; no later Pillow comes, security updates neither",
    )


def _is_pinned(situation: Situation, project: Project) -> bool:
    return any(pin.kind == project.manager for pin in situation.facts.pins)


def _warning(situation: Situation, project: Project) -> str:
    prefix = quote(situation.facts.environment.prefix)
    return (
        f"{project.directory} is a project of {project.manager}: `{project.sync}` puts back the Pillow of "
        f"its lock; --pin has it keep this one, now or later: fastinstall guard install --pin --prefix {prefix}"
    )
