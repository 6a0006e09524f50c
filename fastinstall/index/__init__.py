"""Find and fetch files: package indexes, wheelhouses, the store of downloads, pip."""
