"""Jinja2 prompts and pages, nothing else."""
