"""The disk snapshot for the next start."""
