"""Counts requests by key and reports them."""
