"""``python -m cypherforge`` is the command line."""

from cypherforge.cli import app

if __name__ == "__main__":
    app()
