"""The command line: mounts each room's commands, nothing else.

A line of ``COMMANDS`` is ``"name"`` or ``"group name"``, the function that does it (typer
annotations, in its room's ``commands.py``), and the one line ``--help`` shows. Nothing is imported
before it is called.
"""

from typing import Annotated

import typer

from cypherforge.core.cli_support import RootGroup, lazy_group, new_app

GROUPS = {
    "artifacts": "Look at the artifacts that stages write.",
    "bundle": "Rule bundles: the one file that the runtime loads.",
    "eval": "Evaluate strategies: run a matrix, report, compare.",
    "gate": "Is a query safe, and does it fit the schema.",
    "graph": "Graphs: look at one, move one into files or a server.",
    "rules": "Rules: list, write, check, prove.",
    "schema": "Schemas of graphs and files: show, check, compare.",
    "synth": "Make question-Cypher pairs from a graph.",
}

COMMANDS = {
    "mine": ("cypherforge.miner.commands:mine_command", "Questions in, rule bundle out."),
    "ask": ("cypherforge.runtime.commands:ask_command", "Answer a question on a graph."),
    "stratify": (
        "cypherforge.miner.commands:stratify_command",
        "Choose the train questions to draft.",
    ),
    "collect": ("cypherforge.miner.commands:collect_command", "Draft them, keep the failures."),
    "rules write": ("cypherforge.miner.commands:write_command", "Write rules from failures."),
    "rules check": ("cypherforge.miner.commands:check_command", "Check that rules are general."),
    "rules prove": ("cypherforge.miner.commands:prove_command", "Measure what each rule changes."),
    "rules list": ("cypherforge.rules.commands:list_rules", "List a bundle's rules."),
    "taxonomy": ("cypherforge.rules.commands:taxonomy", "The 32 fault codes, as a page."),
    "bundle build": ("cypherforge.miner.commands:build_command", "Build a bundle of proven rules."),
    "bundle show": ("cypherforge.artifacts.commands:show_bundle", "Show what a bundle holds."),
    "bundle verify": ("cypherforge.artifacts.commands:verify_bundle", "Check a bundle's digest."),
    "bundle diff": ("cypherforge.artifacts.commands:diff_bundles", "Compare two bundles."),
    "artifacts list": ("cypherforge.artifacts.commands:list_artifacts", "List artifacts."),
    "artifacts show": ("cypherforge.artifacts.commands:show_artifact", "Show one artifact."),
    "artifacts verify": (
        "cypherforge.artifacts.commands:verify_artifacts",
        "Check artifacts against their digests and inputs.",
    ),
    "artifacts gc": (
        "cypherforge.artifacts.commands:collect_garbage",
        "Remove what interrupted runs left behind.",
    ),
    "gate check": ("cypherforge.validators.commands:check", "Check a query, or a file of them."),
    "diagnose": (
        "cypherforge.diagnosis.commands:diagnose_command",
        "Which faults a draft has against its gold, or count those of an artifact.",
    ),
    "eval run": (
        "cypherforge.evaluation.commands:run_command",
        "Run strategies, models and graphs; score; report.",
    ),
    "eval report": (
        "cypherforge.evaluation.commands:report_command",
        "Write a finished run's report anew.",
    ),
    "eval compare": (
        "cypherforge.evaluation.commands:compare_command",
        "Which questions change sides between two runs.",
    ),
    "eval judge": (
        "cypherforge.evaluation.commands:judge_command",
        "Let a model judge a run's answers beside EX.",
    ),
    "eval audit": (
        "cypherforge.evaluation.dataset_commands:audit_command",
        "What is wrong with golds.",
    ),
    "eval split": (
        "cypherforge.evaluation.dataset_commands:split_command",
        "Split questions so that nothing leaks.",
    ),
    "eval leaks": (
        "cypherforge.evaluation.dataset_commands:leaks_command",
        "How much of a test set training has seen.",
    ),
    "eval empties": (
        "cypherforge.evaluation.dataset_commands:empties_command",
        "Make questions whose right answer is no row.",
    ),
    "graph info": ("cypherforge.graph.commands:show_graph", "What a graph is and holds."),
    "graph export": (
        "cypherforge.graph.commands:export_graph_command",
        "Write a graph as neutral files.",
    ),
    "graph load": (
        "cypherforge.graph.commands:load_graph_command",
        "Create a graph of neutral files in an empty database.",
    ),
    "schema show": (
        "cypherforge.graph.commands:show_schema",
        "Print a schema in any format, within a token budget.",
    ),
    "schema check": (
        "cypherforge.graph.commands:check_schema_command",
        "Say what is wrong or doubtful with a schema.",
    ),
    "schema diff": (
        "cypherforge.graph.commands:diff_schemas_command",
        "Say what two schemas declare differently.",
    ),
    "schema grammar": (
        "cypherforge.runtime.commands:grammar_command",
        "Print the grammar of the queries that a schema allows (GBNF, Lark).",
    ),
    "synth pairs": (
        "cypherforge.synth.commands:pairs_command",
        "From any graph to verified question-Cypher pairs, with no model.",
    ),
    "synth check": (
        "cypherforge.synth.commands:check_command",
        "Run pairs again, on the same graph or another engine, and compare.",
    ),
    "doctor": (
        "cypherforge.runtime.doctor:doctor",
        "What is reachable, how to fix what is not, and what would leave this machine.",
    ),
}

app = new_app(cls=lazy_group(COMMANDS, GROUPS, RootGroup))


def _version(wanted: bool) -> None:
    if wanted:
        from cypherforge import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Mine rules for LLM-written Cypher, prove each, and answer questions with them."""
