"""Stands before a protected route of any framework."""
