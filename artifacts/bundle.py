"""Rule bundles: everything mining found, in one file that the runtime loads.

A bundle is a ZIP file with the extension ``.cfb``, uncompressed, names sorted, no time of day, so
that equal content gives equal bytes on every machine. ``bundle.json`` names format, version,
compatibility range and the digest of every part; the archive's comment is a seal over all bytes
before it, so a change of any byte is found out before anything is believed.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cypherforge import __version__
from cypherforge.core.errors import ArtifactError, InputError, NewerFormat, Tampered
from cypherforge.core.files import atomic_write, digest, dumps

FORMAT = 1
EXTENSION = ".cfb"
# Cosines are compared after rounding to five decimals; embeddings need no more.
DECIMALS = 6
# Reciprocity: CypherGuard says "a certain threshold"; ours. The rest: CypherGuard 3.2 to 3.5.
DEFAULT_THRESHOLDS: Mapping[str, float] = {
    "reciprocity": 0.9,
    "sparse": 0.5,
    "few_shot": 3,
    "shapes": 2,
    "repairs": 3,
    "plan_rows": 100_000,
    "plan_rows_summed": 1_000_000,
}

_HEADER = "bundle.json"
_SEAL = b"cypherforge seal sha256:"
_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:[-+][0-9A-Za-z.+-]+)?")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A train question with its gold, shown to a drafting model as an example."""

    id: str
    question: str
    cypher: str
    graph: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A query skeleton in placeholders, chosen by overlap of ``keywords`` with the question."""

    id: str
    title: str
    keywords: tuple[str, ...]
    cypher: str


@cache
def shipped_shapes() -> tuple[Shape, ...]:
    """The project's own shape exemplars."""
    import yaml

    text = (files("cypherforge.artifacts") / "shapes.yaml").read_text(encoding="utf-8")
    return tuple(_shape(entry) for entry in yaml.safe_load(text))


def _no_embeddings() -> npt.NDArray[np.float32]:
    return np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Bundle:
    """The content of a bundle; equal if the digests are.

    ``rules`` are rules as plain data (``Rule.model_dump``), each with its ``evidence``.
    ``embeddings`` is (exemplars, dimensions), float32, rows normalised, or (0, 0) where
    ``embedder`` is empty. ``schemas`` maps the graphs of the exemplars to their schema as text.
    ``sources`` says what it was made from: digests and model names, never a time.
    ``compatible`` is the range of cypherforge versions that read it: from (in), before (out).
    Raises ValueError if the parts do not fit together.
    """

    name: str
    version: str = "0.1.0"
    rules: tuple[Mapping[str, Any], ...] = ()
    exemplars: tuple[Exemplar, ...] = ()
    embeddings: npt.NDArray[np.float32] = field(default_factory=_no_embeddings)
    embedder: str = ""
    shapes: tuple[Shape, ...] = field(default_factory=shipped_shapes)
    taxonomy: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_THRESHOLDS))
    schemas: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)
    compatible: tuple[str, str] = ("0.1.0", "1.0.0")

    def __post_init__(self) -> None:
        for text in (self.version, *self.compatible):
            if not _SEMVER.fullmatch(text):
                raise ValueError(f"not a semantic version: {text!r}")
        for what, ids in (
            ("rule", [rule["id"] for rule in self.rules]),
            ("exemplar", [exemplar.id for exemplar in self.exemplars]),
            ("shape", [shape.id for shape in self.shapes]),
        ):
            if len(set(ids)) != len(ids):
                raise ValueError(f"two {what}s have one id")
        rounded = np.round(np.asarray(self.embeddings, dtype=np.float64), DECIMALS) + 0.0
        if rounded.ndim != 2 or not np.isfinite(rounded).all():
            raise ValueError("embeddings must be a table of finite numbers")
        if len(rounded) not in (0, len(self.exemplars)) or bool(len(rounded)) != bool(
            self.embedder
        ):
            raise ValueError("embeddings, embedder and exemplars do not fit together")
        object.__setattr__(self, "embeddings", np.ascontiguousarray(rounded, dtype=np.float32))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def _parts(self) -> dict[str, bytes]:
        table = io.BytesIO()
        np.lib.format.write_array(table, self.embeddings, version=(1, 0), allow_pickle=False)
        return {
            "embeddings.npy": table.getvalue(),
            "exemplars.jsonl": _lines(asdict(exemplar) for exemplar in self.exemplars),
            "rules.jsonl": _lines(self.rules),
            "schemas.json": dumps(dict(self.schemas)).encode(),
            "shapes.jsonl": _lines(asdict(shape) for shape in self.shapes),
            "taxonomy.json": dumps(dict(self.taxonomy)).encode(),
        }

    @cached_property
    def digest(self) -> str:
        """Digest over the whole content."""
        return digest(dumps(self._identity()))

    def _identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "version": self.version,
            "compatible": {"from": self.compatible[0], "before": self.compatible[1]},
            "embedder": self.embedder,
            "thresholds": dict(self.thresholds),
            "sources": dict(self.sources),
            "parts": {name: digest(data) for name, data in sorted(self._parts.items())},
        }

    def summary(self) -> dict[str, Any]:
        """What the bundle holds, without the content itself, as plain data."""
        header = self._identity()
        del header["parts"]
        return {
            **header,
            "digest": self.digest,
            "taxonomy": self.taxonomy.get("version", 0),
            "exemplars": len(self.exemplars),
            "dimensions": int(self.embeddings.shape[1]),
            "graphs": sorted(self.schemas),
            "shapes": [shape.id for shape in self.shapes],
        }

    def to_bytes(self) -> bytes:
        """The bundle's file: equal bytes for equal content."""
        header = json.dumps(
            {**self._identity(), "digest": self.digest}, indent=2, sort_keys=True
        ).encode()
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
            for name, data in sorted({**self._parts, _HEADER: header}.items()):
                info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                info.create_system = 3
                info.external_attr = 0o644 << 16
                archive.writestr(info, data)
            archive.comment = _SEAL + b"0" * 64
        body = target.getvalue()[:-64]
        return body + hashlib.sha256(body).hexdigest().encode()

    def save(self, path: Path | str) -> Path:
        """Write the file, whole or not at all; StorageError if the disk refuses."""
        atomic_write(path, self.to_bytes())
        return Path(path)

    @staticmethod
    def load(path: Path | str) -> Bundle:
        """Read a bundle file, or the one that ships (``"default"``).

        Raises InputError if there is none, Tampered if a byte of it was changed, NewerFormat if a
        newer cypherforge wrote it or is needed to use it, ArtifactError if it is no bundle.
        """
        if str(path) == "default":
            shipped = files("cypherforge.artifacts") / "default" / f"bundle{EXTENSION}"
            if not shipped.is_file():
                raise InputError(
                    "this installation has no default bundle",
                    hint="name a bundle file, e.g. of `cypherforge mine`",
                )
            with as_file(shipped) as file:
                return Bundle.from_bytes(file.read_bytes(), str(file))
        path = Path(path)
        if path.is_dir():
            inside = sorted(path.glob(f"*{EXTENSION}"))
            if len(inside) == 1:
                path = inside[0]
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise InputError(
                "no such bundle", where=str(path), hint="name a .cfb file, or default"
            ) from None
        except OSError as error:
            raise InputError(error.strerror or "cannot be read", where=str(path)) from error
        return Bundle.from_bytes(data, str(path))

    @staticmethod
    def from_bytes(data: bytes, where: str = "bundle") -> Bundle:
        """Read what :meth:`to_bytes` gave; errors as for :meth:`load`, naming ``where``."""
        head, seal = data[:-64], data[-64:]
        if not head.endswith(_SEAL):
            # Without its seal it is either no bundle, or one that another program packed again.
            if data.startswith(b"PK") and _HEADER.encode() in data:
                raise _tampered(where)
            raise ArtifactError("is not a rule bundle", where=where, hint="name a .cfb file")
        if hashlib.sha256(head).hexdigest().encode() != seal:
            raise _tampered(where)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                header = json.loads(archive.read(_HEADER))
                _check_readable(header, where)
                parts = {name: archive.read(name) for name in header["parts"]}
            bundle = _assemble(header, parts)
        except (KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
            raise ArtifactError(
                f"a part is missing or malformed: {error}", where=where, hint="build it again"
            ) from error
        if bundle.digest != header["digest"]:
            raise _tampered(where)
        return bundle


@dataclass(frozen=True, slots=True)
class BundleDiff:
    """What differs from one bundle to another; changed entries say which fields."""

    rules_added: tuple[str, ...]
    rules_removed: tuple[str, ...]
    rules_changed: Mapping[str, tuple[str, ...]]
    exemplars_added: tuple[str, ...]
    exemplars_removed: tuple[str, ...]
    exemplars_changed: tuple[str, ...]
    shapes: tuple[str, ...]
    settings: Mapping[str, tuple[Any, Any]]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not any(getattr(self, name) for name in self.__slots__)


def diff(old: Bundle, new: Bundle) -> BundleDiff:
    """Compare two bundles part by part."""
    before = {str(rule["id"]): rule for rule in old.rules}
    after = {str(rule["id"]): rule for rule in new.rules}
    changed = {
        name: tuple(
            key
            for key in sorted({*before[name], *after[name]})
            if before[name].get(key) != after[name].get(key)
        )
        for name in sorted(before.keys() & after.keys())
    }
    shown = {exemplar.id: exemplar for exemplar in old.exemplars}
    shows = {exemplar.id: exemplar for exemplar in new.exemplars}
    shapes = set(old.shapes) ^ set(new.shapes)
    return BundleDiff(
        rules_added=tuple(sorted(after.keys() - before.keys())),
        rules_removed=tuple(sorted(before.keys() - after.keys())),
        rules_changed={name: keys for name, keys in changed.items() if keys},
        exemplars_added=tuple(sorted(shows.keys() - shown.keys())),
        exemplars_removed=tuple(sorted(shown.keys() - shows.keys())),
        exemplars_changed=tuple(
            sorted(k for k in shown.keys() & shows.keys() if shown[k] != shows[k])
        ),
        shapes=tuple(sorted({shape.id for shape in shapes})),
        settings={key: (a, b) for key, (a, b) in _settings(old, new).items() if a != b},
    )


def _settings(old: Bundle, new: Bundle) -> dict[str, tuple[Any, Any]]:
    names = sorted({*old.thresholds, *new.thresholds})
    return {
        "name": (old.name, new.name),
        "version": (old.version, new.version),
        "compatible": (list(old.compatible), list(new.compatible)),
        "embedder": (old.embedder, new.embedder),
        "embeddings": (_part(old, "embeddings.npy"), _part(new, "embeddings.npy")),
        "schemas": (_part(old, "schemas.json"), _part(new, "schemas.json")),
        "sources": (dict(old.sources), dict(new.sources)),
        "taxonomy": (_part(old, "taxonomy.json"), _part(new, "taxonomy.json")),
        **{
            f"threshold {name}": (old.thresholds.get(name), new.thresholds.get(name))
            for name in names
        },
    }


def _part(bundle: Bundle, name: str) -> str:
    return digest(bundle._parts[name])


def _assemble(header: Mapping[str, Any], parts: Mapping[str, bytes]) -> Bundle:
    table = io.BytesIO(parts["embeddings.npy"])
    embeddings = np.lib.format.read_array(table, allow_pickle=False)
    return Bundle(
        name=header["name"],
        version=header["version"],
        rules=tuple(_rows(parts["rules.jsonl"])),
        exemplars=tuple(Exemplar(**row) for row in _rows(parts["exemplars.jsonl"])),
        embeddings=embeddings.astype(np.float32),
        embedder=header["embedder"],
        shapes=tuple(_shape(row) for row in _rows(parts["shapes.jsonl"])),
        taxonomy=json.loads(parts["taxonomy.json"]),
        thresholds=header["thresholds"],
        schemas=json.loads(parts["schemas.json"]),
        sources=header["sources"],
        compatible=(header["compatible"]["from"], header["compatible"]["before"]),
    )


def _check_readable(header: Mapping[str, Any], where: str) -> None:
    if header["format"] > FORMAT:
        raise NewerFormat(
            f"written in bundle format {header['format']}; cypherforge {__version__} reads up to "
            f"format {FORMAT}",
            where=where,
            hint="update cypherforge",
        )
    first, before = header["compatible"]["from"], header["compatible"]["before"]
    if _order(__version__) < _order(first):
        raise NewerFormat(
            f"made for cypherforge {first} or newer; this is {__version__}",
            where=where,
            hint="update cypherforge",
        )
    if _order(__version__) >= _order(before):
        raise ArtifactError(
            f"made for cypherforge before {before}; this is {__version__}",
            where=where,
            hint="build it again with this version",
        )


def _order(version: str) -> tuple[int, ...]:
    match = _SEMVER.fullmatch(version)
    if match is None:
        raise ValueError(f"not a semantic version: {version!r}")
    return tuple(int(part) for part in match.groups())


def _tampered(where: str) -> Tampered:
    return Tampered(
        "the bundle was changed after it was built",
        where=where,
        hint="get it anew, or build it again",
    )


def _lines(rows: Any) -> bytes:
    return "".join(dumps(dict(row)) + "\n" for row in rows).encode()


def _rows(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.split(b"\n") if line]


def _shape(row: Mapping[str, Any]) -> Shape:
    return Shape(**{**row, "keywords": tuple(row["keywords"])})
