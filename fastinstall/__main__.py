"""`python -m fastinstall` is the same program as `fastinstall`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # `-m` put the working directory there, from which nothing must be imported
    from fastinstall.cli.main import main

    sys.exit(main())
