"""`python -m fastinstall` is the same program as `fastinstall`."""

import sys

from fastinstall.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
