"""The C headers that a build reads: found, fetched, fitted to what the core is linked to."""
