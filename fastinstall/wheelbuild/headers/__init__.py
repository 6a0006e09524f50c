"""Find and fetch the C headers that a build reads, and adapt them to the libraries that the core links."""
