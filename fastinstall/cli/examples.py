"""What people do with each verb, as they type it: shown by `--help`, in the man page and in the reference."""

from fastinstall.model.immutable import immutable


@immutable
class Example:
    """One command line.

    Attributes:
        command: as it is typed into a shell.
        says: what it is for, in a few words.
    """

    command: str
    says: str


def _pairs(*pairs: tuple[str, str]) -> tuple[Example, ...]:
    return tuple(Example(command=f"fastinstall {words}", says=says) for words, says in pairs)


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "": _pairs(
        ("setup", "a wizard: plan, build, prove, swap"),
        ("setup --yes --new-env ./fast", "in a script, in a new environment"),
        ("doctor", "is it fast, whole and still ours?"),
        ("rollback", "the state before, to the byte"),
    ),
    "setup": _pairs(
        ("setup", "the wizard"),
        ("setup --yes --new-env ./fast", "in a new environment"),
        ("setup --yes --wheelhouse DIR --offline", "from what build made"),
    ),
    "plan": _pairs(
        ("plan -o plan.json", "save it, for: apply plan.json"),
        ("plan --format dockerfile", "the same as an image's file"),
        ("plan --hosts FACTS", "which wheels serve all these machines"),
    ),
    "apply": _pairs(
        ("apply plan.json", "show the plan, and ask"),
        ("apply --yes plan.json", "without a question"),
    ),
    "doctor": _pairs(
        ("doctor", "every check"),
        ("doctor swapped simd-active", "two checks"),
        ("doctor --quick --quiet --all", "one line for each environment"),
        ("doctor --fix", "repair what it finds, after asking"),
    ),
    "rollback": _pairs(
        ("rollback --list", "what can be undone"),
        ("rollback", "undo the last setup"),
        ("rollback --to ID --yes", "undo everything since that one"),
    ),
    "guard": _pairs(
        ("guard status", "what it costs, and what it has told"),
        ("guard install --pin", "hold pip, uv or conda to this build too"),
        ("guard check uv.lock", "would this bring stock Pillow back?"),
        ("guard accept", "keep what has replaced the stack"),
    ),
    "build": _pairs(
        ("build -o wheels", "then: setup --wheelhouse wheels"),
        ("build -o channel --format conda", "conda packages"),
        ("build -o wheels --hosts FACTS", "what these machines need"),
    ),
    "bench": _pairs(
        ("bench --quick", "an answer within 20 seconds"),
        ("bench ~/images", "measured on your images"),
        ("bench --print-code NAME", "that way of loading, as code"),
    ),
    "inspect": _pairs(
        ("inspect", "what fastinstall sees"),
        ("inspect --redact", "the same, for a bug report"),
        ("inspect --json > facts.json", "for: plan --hosts"),
    ),
    "recipes": _pairs(
        ("recipes list", "what can be built"),
        ("recipes show pillow-merged", "one of them, with its advisories"),
        ("recipes check mine.toml", "is this a recipe?"),
    ),
    "completion": _pairs(
        ("completion bash > fastinstall.bash", "then: source fastinstall.bash"),
        ("completion zsh > _fastinstall", "in a directory of fpath"),
        ("completion fish > fastinstall.fish", "in ~/.config/fish/completions"),
    ),
}
"""Those of each verb, and of the program itself under the empty name."""
