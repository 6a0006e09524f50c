"""Whether a build computes what the official wheel computes, and how much faster."""
