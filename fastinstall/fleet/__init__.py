"""Many machines: the few wheels that serve them, a wheelhouse for all, their reports in one."""
