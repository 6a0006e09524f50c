"""What a project's manifest says so that its own tool keeps the stack: edits of TOML, and locks compared. Pure."""
