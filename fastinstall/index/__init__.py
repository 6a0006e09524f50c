"""Find and fetch files from package indexes, wheelhouses and the store of downloads; run pip."""
