"""Follows the service: polls, checks and applies the policy feed."""
