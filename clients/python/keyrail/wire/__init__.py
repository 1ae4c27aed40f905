"""Calls to the service: connections, failures, retries."""
