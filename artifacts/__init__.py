"""Versioned artifacts, bundle files, shipped data."""
