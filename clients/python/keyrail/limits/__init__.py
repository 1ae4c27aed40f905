"""Rate limits of a key."""
