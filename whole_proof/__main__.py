"""The command `sh bootstrap.sh prove NAME`: a verb of fastinstall's command line that only exists in a clone.

Its flags, environment variables, settings and exit codes work like those of the other verbs.
"""

import sys
from argparse import ArgumentParser, Namespace

from fastinstall.cli import commands
from fastinstall.cli.common import open_working_session, target_of, tell
from fastinstall.cli.help import EXAMPLES
from fastinstall.cli.main import Context, main
from fastinstall.cli.options import add_request_options, read_request
from fastinstall.cli.parser import VERBS, add_target_flags
from fastinstall.core.errors import ExitCode
from whole_proof.prove_recipe import prove_recipe
from whole_proof.text import proof_text

PROGRAM = "sh bootstrap.sh prove"


def run(arguments: Namespace, context: Context) -> int:
    """Build the recipe and prove it; return the exit code."""
    session, request = open_working_session(context), read_request(arguments, context.sources)
    proof = prove_recipe(session, arguments.name, target_of(arguments), request)
    tell(context, "proof", proof, proof_text)
    return ExitCode.OK if proof.holds else ExitCode.FINDINGS


def add_flags(parser: ArgumentParser) -> None:
    """Add the flags of the verb to its parser, and set the program name that its help shows."""
    parser.prog = PROGRAM
    parser.add_argument("name", metavar="NAME", help="the recipe")
    add_target_flags(parser)
    add_request_options(parser)


if __name__ == "__main__":
    # main() finds a verb's flags in VERBS, its examples in EXAMPLES, and its code in the module of that name in
    # `commands`.
    VERBS["prove"] = ("build a recipe and prove it completely; installs nothing", add_flags)
    EXAMPLES["bootstrap.sh prove"] = {f"{PROGRAM} pillow-fast --version 13.0.0": "all of it, in a quarter of an hour"}
    sys.modules[f"{commands.__name__}.prove"] = sys.modules[__name__]
    sys.argv[1:] = ["prove", *sys.argv[1:]]
    sys.exit(main())
