"""Values that several features share, and the documents that they become. No input, no output."""
