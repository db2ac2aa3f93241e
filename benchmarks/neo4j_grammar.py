"""Fetch Neo4j's own Cypher grammar and make a Python parser of it, for ``parse.py`` to time.

    python benchmarks/neo4j_grammar.py FOLDER
    python benchmarks/parse.py DATA --neo4j-grammar FOLDER

The grammar (Apache 2.0) comes with the npm package ``@neo4j-cypher/language-support``, ANTLR's tool
with Maven's ``org.antlr:antlr4``. Both are fetched with their ordinary clients, so ``npm``, ``mvn``
and ``java`` have to be there; nothing of either is part of this repository. The grammar holds one
action and one attribute in Java, which are put into Python first. Timing needs
``pip install antlr4-python3-runtime==4.13.2``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@neo4j-cypher/language-support@2.0.0-next.38"
ANTLR = "4.13.2"
GRAMMARS = "package/src/antlr-grammar/"

# What stands in the grammar in Java, and the same in Python.
_IN_PYTHON = {
    "{ if (!_modeStack.isEmpty()) popMode(); }": "{if self._modeStack: self.popMode()}",
    "[String paramType]": "[str paramType]",
}


def main() -> int:
    """Write the generated modules into the folder; exit code 1 where a tool is missing or fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as work:
            generate(Path(work), folder)
    except FileNotFoundError as error:
        print(f"{error.filename} is not installed", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} failed:\n{error.stderr}", file=sys.stderr)
        return 1
    print(f"the parser lies in {folder}")
    return 0


def generate(work: Path, folder: Path) -> None:
    """Fetch into ``work``, generate into ``folder``."""
    run(work, "npm", "pack", PACKAGE)
    with tarfile.open(next(work.glob("*.tgz"))) as archive:
        for member in archive.getmembers():
            if member.name.startswith(GRAMMARS) and member.name.endswith(".g4"):
                file = archive.extractfile(member)
                assert file is not None
                text = file.read().decode()
                for java, python in _IN_PYTHON.items():
                    text = text.replace(java, python)
                (work / Path(member.name).name).write_text(text, encoding="utf-8")
    artifact = f"org.antlr:antlr4:{ANTLR}:jar:complete"
    run(work, "mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={work}")
    tool = ("java", "-jar", f"antlr4-{ANTLR}-complete.jar", "-Dlanguage=Python3", "-no-listener")
    for grammar, library in (("CypherPreLexer.g4", work), ("CypherPreParser.g4", folder)):
        run(work, *tool, "-lib", str(library), "-o", str(folder), grammar)


def run(work: Path, *command: str) -> None:
    """Run a command in a folder; its output is kept for the error."""
    subprocess.run(command, cwd=work, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    raise SystemExit(main())
