"""Commands over artifacts and bundles: parse, call one function, print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.artifacts.storage import leftovers, remove, storage_errors
from cypherforge.artifacts.store import Artifact, find_artifacts
from cypherforge.core.cli_support import JsonOption
from cypherforge.core.console import echo, echo_json, fit, format_table
from cypherforge.core.errors import ArtifactError, InputError

FolderArgument = Annotated[Path, typer.Argument(help="A folder: a run, or one artifact.")]
BundleArgument = Annotated[str, typer.Argument(help="A .cfb file, or default.")]


def list_artifacts(folder: FolderArgument = Path(), json: JsonOption = False) -> None:
    """List the artifacts in a folder and below it."""
    rows: list[dict[str, Any]] = []
    for path in _find(folder):
        try:
            manifest = Artifact.open(path).manifest
        except ArtifactError as error:
            rows.append({"path": str(path), "problem": error.message})
            continue
        rows.append(
            {
                "path": str(path),
                "kind": manifest.kind,
                "version": manifest.version,
                "digest": manifest.digest,
                "rows": sum(entry.rows or 0 for entry in manifest.files.values()),
                "bytes": sum(entry.bytes for entry in manifest.files.values()),
                "started": manifest.run.started,
                "seconds": manifest.run.seconds,
            }
        )
    if json:
        echo_json(rows)
        return
    table = [
        [r["path"], "-", "-", "-", "-", str(r["problem"])]
        if "problem" in r
        else [
            str(r["path"]),
            f"{r['kind']} v{r['version']}",
            str(r["rows"]),
            _size(r["bytes"]),
            str(r["started"]),
            _brief(str(r["digest"])),
        ]
        for r in rows
    ]
    echo(format_table(["artifact", "kind", "rows", "size", "started", "digest"], table))


def show_artifact(folder: FolderArgument, json: JsonOption = False) -> None:
    """Show what one artifact is, what it was made from, and what it holds."""
    artifact = Artifact.open(folder)
    manifest = artifact.manifest
    if json:
        echo_json(manifest.to_json())
        return
    lines = [
        ("kind", f"{manifest.kind}, version {manifest.version}"),
        ("digest", manifest.digest),
        ("started", f"{manifest.run.started}, {manifest.run.seconds:g} s"),
        ("code", f"cypherforge {manifest.run.code_version}"),
        ("models", ", ".join(manifest.run.models) or "none"),
        ("seed", "none" if manifest.seed is None else str(manifest.seed)),
    ]
    lines += [("input", f"{i.kind} {_brief(i.digest)} {i.path}") for i in manifest.inputs]
    for title, values in (
        ("option", manifest.params),
        ("summary", manifest.summary),
        ("usage", manifest.run.usage),
    ):
        lines += [(title, f"{name} = {value}") for name, value in sorted(values.items())]
    echo("\n".join(f"{name:<8} {value}" for name, value in lines) + "\n")
    echo(
        format_table(
            ["file", "rows", "size", "digest"],
            [
                [name, "" if e.rows is None else str(e.rows), _size(e.bytes), _brief(e.digest)]
                for name, e in manifest.files.items()
            ],
        )
    )


def verify_artifacts(folder: FolderArgument = Path(), json: JsonOption = False) -> None:
    """Check every artifact in a folder against its digests, and its inputs where they still lie.

    Exit code 1 if anything was changed.
    """
    found: list[dict[str, Any]] = []
    for path in _find(folder):
        problems = []
        try:
            artifact = Artifact.open(path)
            artifact.verify()
            problems = _changed_inputs(artifact)
        except ArtifactError as error:
            problems = [error.message]
        found.append({"path": str(path), "ok": not problems, "problems": problems})
    if json:
        echo_json(found)
    else:
        for entry in found:
            echo(f"{'ok     ' if entry['ok'] else 'CHANGED'}  {entry['path']}")
            for problem in entry["problems"]:
                echo(f"         {problem}")
    if not all(entry["ok"] for entry in found):
        raise typer.Exit(1)


def collect_garbage(
    folder: FolderArgument = Path(),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Remove half-written files and folders whose process no longer runs."""
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder))
    parents = [folder, *sorted(p for p in folder.rglob("*") if p.is_dir())]
    garbage = [path for parent in parents for path in leftovers(parent)]
    # What lies in a folder that goes as a whole is not counted twice.
    garbage = [path for path in garbage if not any(p in garbage for p in path.parents)]
    freed = 0
    for path in garbage:
        if not dry_run:
            with storage_errors(path):
                freed += remove(path)
    if json:
        echo_json({"removed": [str(p) for p in garbage], "bytes": freed, "dry_run": dry_run})
        return
    for path in garbage:
        echo(str(path))
    done = "would be removed" if dry_run else f"removed, {_size(freed)} freed"
    echo(f"{len(garbage)} left-over files and folders {done}")


def show_bundle(bundle: BundleArgument = "default", json: JsonOption = False) -> None:
    """Show what a bundle holds: rules with their evidence, exemplars, shapes, thresholds."""
    from cypherforge.artifacts.bundle import Bundle

    loaded = Bundle.load(bundle)
    summary = loaded.summary()
    if json:
        echo_json({**summary, "rules": [dict(rule) for rule in loaded.rules]})
        return
    compatible = summary["compatible"]
    for name, value in (
        ("bundle", f"{summary['name']} {summary['version']}"),
        ("digest", summary["digest"]),
        ("reads", f"cypherforge {compatible['from']} up to, not including, {compatible['before']}"),
        ("taxonomy", f"version {summary['taxonomy']}"),
        ("exemplars", f"{summary['exemplars']}, embedded by {summary['embedder'] or 'nothing'}"),
        ("graphs", ", ".join(summary["graphs"]) or "none"),
        ("shapes", f"{len(summary['shapes'])}: {', '.join(summary['shapes'])}"),
        ("thresholds", ", ".join(f"{k} {v:g}" for k, v in sorted(summary["thresholds"].items()))),
        *((f"source {k}", str(v)) for k, v in sorted(summary["sources"].items())),
    ):
        echo(f"{name:<11} {value}")
    echo()
    columns = ["rule", "tier", "codes", "cites", "evidence", "title"]
    echo(format_table(columns, [_rule_row(rule) for rule in loaded.rules]))


def verify_bundle(bundle: BundleArgument = "default", json: JsonOption = False) -> None:
    """Check a bundle's seal and digests; exit code 1 if it was changed."""
    from cypherforge.artifacts.bundle import Bundle

    loaded = Bundle.load(bundle)
    if json:
        echo_json({"ok": True, "digest": loaded.digest, "version": loaded.version})
    else:
        echo(f"ok  {loaded.name} {loaded.version}  {loaded.digest}")


def diff_bundles(old: BundleArgument, new: BundleArgument, json: JsonOption = False) -> None:
    """Say what differs from one bundle to another."""
    from cypherforge.artifacts.bundle import Bundle, diff

    found = diff(Bundle.load(old), Bundle.load(new))
    if json:
        echo_json({"same": found.same, **asdict(found)})
        return
    if found.same:
        echo("the bundles are the same")
        return
    rows = [["rule", name, "added"] for name in found.rules_added]
    rows += [["rule", name, "removed"] for name in found.rules_removed]
    rows += [["rule", name, ", ".join(keys)] for name, keys in found.rules_changed.items()]
    for change, names in (
        ("added", found.exemplars_added),
        ("removed", found.exemplars_removed),
        ("changed", found.exemplars_changed),
    ):
        if names:
            shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
            rows.append(["exemplars", f"{len(names)}", f"{change}: {shown}"])
    rows += [["shape", name, "changed"] for name in found.shapes]
    rows += [
        ["setting", name, f"{fit(str(a), 40)} -> {fit(str(b), 40)}"]
        for name, (a, b) in found.settings.items()
    ]
    echo(format_table(["part", "what", "change"], rows))


def _rule_row(rule: Mapping[str, Any]) -> list[str]:
    evidence = rule.get("evidence")
    if evidence is None:
        proof = "none"
    else:
        proof = (
            f"{evidence['verdict']}: fixed {evidence['fixed']} of {evidence['failures']}, "
            f"broke {evidence['broken']} of {evidence['passes']}, lift {evidence['lift']:+.3f} "
            f"[{evidence['low']:+.3f}, {evidence['high']:+.3f}]"
        )
    return [
        str(rule["id"]),
        str(rule["tier"]),
        ", ".join(rule.get("codes", ())),
        str(len(rule.get("cites", ()))),
        proof,
        str(rule.get("title", "")),
    ]


def _find(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder))
    return find_artifacts(folder)


def _changed_inputs(artifact: Artifact) -> list[str]:
    problems = []
    for ref in artifact.manifest.inputs:
        if not ref.path or not (Path(ref.path) / "manifest.json").is_file():
            continue
        now = Artifact.open(ref.path).digest
        if now != ref.digest:
            problems.append(
                f"its input {ref.path} is another one now: {_brief(now)}, was {_brief(ref.digest)}"
            )
    return problems


def _brief(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
