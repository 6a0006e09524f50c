"""Values shared by several features, and their documents. No input, no output."""
