"""Scores, statistics, matrix and report: every claim of the project comes from a command."""

from cypherforge.evaluation.scores import execution_accuracy

__all__ = ["execution_accuracy"]
