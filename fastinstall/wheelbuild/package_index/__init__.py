"""A directory of wheels that serves as a wheelhouse and as a static package index: surveyed, paged, published."""
