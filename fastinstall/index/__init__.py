"""What can be had, and how it is fetched: package indexes, wheelhouses, the store of downloads, pip."""
