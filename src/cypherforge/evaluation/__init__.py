"""Scores, statistics, reports."""
