"""Jinja2 prompts and pages, nothing else.

Values are data: a template never interprets what a user or a model wrote, so braces in a question
reach the prompt unchanged.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("cypherforge.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=lambda name: bool(name and name.endswith((".html", ".html.jinja"))),
    )


def render(name: str, **values: object) -> str:
    """Fill the template ``name`` (a path below this folder); a missing value is an error."""
    return _environment().get_template(name).render(**values).strip("\n")
