"""Report each PIL that programs import instead of the one in site-packages, with a command that stops the import.

No setup or repair removes such a PIL: its files or variables belong to the user, and other environments may need them.
"""

from fastinstall.core.messages import quote
from fastinstall.doctor.remedies import VERSION, show
from fastinstall.model.facts import EnvironmentKind, Facts, ImportSource, ShadowingPil
from fastinstall.model.finding import Finding, Remedy, Status


def list_shadow_findings(facts: Facts) -> tuple[Finding, ...]:
    """Return a finding for each PIL that programs import instead of the environment's own."""
    return tuple(_report(facts, shadow) for shadow in facts.shadows)


def _report(facts: Facts, shadow: ShadowingPil) -> Finding:
    # Without its own PIL, the environment's programs depend on the other one, so this is only a warning.
    has_own = facts.stack.directory is not None and facts.environment.kind is not EnvironmentKind.SYSTEM
    return Finding.of(
        Status.ERROR if has_own else Status.WARNING,
        shadow.sentence,
        evidence=(shadow.location, *((f"added to sys.path by {shadow.origin}",) if shadow.origin else ())),
        expected=f"below {facts.interpreter.site_packages}",
        observed=shadow.location,
        remedy=_offer_end(facts, shadow),
        verify=show(facts.environment.python, "-c", VERSION),
    ).by("pillow-importable")


def warn_about_shadows(facts: Facts) -> tuple[str, ...]:
    """Return a sentence for each PIL that programs will import instead of the one that a setup installs.

    Each sentence ends with a remedy. A PIL in the working directory is left out.
    """
    remedies = ((shadow, _offer_end(facts, shadow)) for shadow in facts.shadows)
    return tuple(
        f"{shadow.sentence}; {remedy.text}" + (f": {remedy.command}" if remedy.command else "")
        for shadow, remedy in remedies
        if shadow.source is not ImportSource.WORKING_DIRECTORY  # depends on this shell, not on the environment
    )


def _offer_end(facts: Facts, shadow: ShadowingPil) -> Remedy:
    """Return the remedy with which the user stops the import of the other PIL; its command is for the current shell."""
    match shadow.source:
        case ImportSource.PYTHONPATH:
            command = f"export PYTHONPATH={quote(shadow.remaining)}" if shadow.remaining else "unset PYTHONPATH"
            return Remedy(text=f"take {shadow.entry} out of PYTHONPATH, also where your shell sets it", command=command)
        case ImportSource.WORKING_DIRECTORY:
            return Remedy(text="rename it, or start programs elsewhere", command=_move_away(str(shadow.package)))
        case ImportSource.STARTUP:
            text = "remove the code that puts it in front: in sitecustomize.py, usercustomize.py or a .pth file"
            if not shadow.origin:
                return Remedy(text=text)
            text = f"remove the code that puts it in front, in {shadow.origin}"
            return Remedy(text=text, command=f"${{EDITOR:-vi}} {quote(shadow.origin)}")
    return _offer_end_of_user_site(facts, shadow)


def _offer_end_of_user_site(facts: Facts, shadow: ShadowingPil) -> Remedy:
    interpreter, python = facts.interpreter, facts.environment.python
    if shadow.distribution and interpreter.pip_version is not None and interpreter.externally_managed is None:
        # pip uninstalls the first distribution of that name on sys.path, which is the other PIL.
        return Remedy(
            text="uninstall it there, or keep the user site out: export PYTHONNOUSERSITE=1",
            command=show(python, "-m", "pip", "uninstall", "--yes", shadow.distribution),
        )
    if shadow.distribution:
        text = "keep the user site out, also where your shell sets variables"
        return Remedy(text=text, command="export PYTHONNOUSERSITE=1")
    place = shadow.origin or str(shadow.package)
    text = "move it away, or keep the user site out: export PYTHONNOUSERSITE=1"
    return Remedy(text=text, command=_move_away(place))


def _move_away(place: str) -> str:
    return f"mv {quote(place)} {quote(f'{place}.away')}"
