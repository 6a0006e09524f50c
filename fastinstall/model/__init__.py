"""Values that several features share, and their documents. Nothing here reads or writes files."""
