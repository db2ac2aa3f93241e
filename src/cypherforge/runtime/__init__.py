"""Draft, fix, gate, execute, answer."""

from cypherforge.runtime.pipeline import Answer, Pipeline

__all__ = ["Answer", "Pipeline"]
