"""Type-check the package under its installed name: ``python tools/typecheck.py [PATH ...]``.

mypy does not follow ``__path__``, so the wheel is built and unpacked into ``build/typecheck`` and
checked there. Paths in the output are those of the repository.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
MIRROR = ROOT / "build" / "typecheck"
INSTALLED = re.compile(r"(?:\S*[\\/])?build[\\/]typecheck[\\/]cypherforge[\\/]([\w.\\/-]+)")
FRONT = {path.name for path in (ROOT / "src" / "cypherforge").iterdir()}


def _in_repository(match: re.Match[str]) -> str:
    path = match[1].replace("\\", "/")
    return f"src/cypherforge/{path}" if path.split("/")[0] in FRONT else path


def mirror() -> Path:
    """Build the wheel and unpack it; return the folder that holds ``cypherforge/``."""
    shutil.rmtree(MIRROR, ignore_errors=True)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*build, "--directory", str(MIRROR)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    for wheel in MIRROR.glob("*.whl"):
        with ZipFile(wheel) as archive:
            archive.extractall(MIRROR)
    return MIRROR


def main() -> int:
    """Return mypy's exit code."""
    mirror()
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *sys.argv[1:]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    print(INSTALLED.sub(_in_repository, run.stdout), end="")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
