"""A small world for the mining tests: a graph, questions, and a model that errs on purpose.

The model reverses the arrow of every question about who acted in what, unless the prompt tells it
to follow the schema's arrows; it counts paths for "how many" questions whatever it is told.
"""

import gzip
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PEOPLE = ["Ann", "Bob", "Cid", "Dora", "Eve", "Fay", "Gus", "Hal"]
MOVIES = ["Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir"]


def write_graph(folder: Path) -> Path:
    """Neutral files: each person acted in two movies, and directed one of them."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = [
        {"id": i, "labels": ["Person"], "properties": {"name": name, "born": 1950 + 3 * i}}
        for i, name in enumerate(PEOPLE)
    ]
    nodes += [
        {"id": 100 + i, "labels": ["Movie"], "properties": {"title": title, "released": 1990 + i}}
        for i, title in enumerate(MOVIES)
    ]
    edges: list[dict[str, Any]] = []
    for i, _ in enumerate(PEOPLE):
        for kind, movie in (("ACTED_IN", i % 6), ("ACTED_IN", (i + 2) % 6), ("DIRECTED", i % 6)):
            edges.append({"type": kind, "start": i, "end": 100 + movie, "properties": {}})
    for number, edge in enumerate(edges):
        edge["id"] = number
    for name, rows in (("nodes", nodes), ("relationships", edges)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    schema: dict[str, Any] = {"apoc.meta.schema": {}, "constraints": [], "indexes": []}
    (folder / "schema.json").write_text(json.dumps(schema))
    return folder


def questions() -> list[dict[str, str]]:
    """Golds that all return rows; people alternate between train and test."""
    rows: list[dict[str, str]] = []

    def add(kind: str, name: str, question: str, cypher: str, split: str) -> None:
        rows.append(
            {
                "id": f"{kind}-{name.lower()}",
                "question": question,
                "cypher": cypher,
                "graph": "films",
                "split": split,
            }
        )

    for i, name in enumerate(PEOPLE):
        split = "train" if i % 2 == 0 else "test"
        add(
            "acted",
            name,
            f"Which movies did {name} act in?",
            f"MATCH (p:Person {{name: '{name}'}})-[:ACTED_IN]->(m:Movie) RETURN m.title",
            split,
        )
        add(
            "born",
            name,
            f"When was {name} born?",
            f"MATCH (p:Person {{name: '{name}'}}) RETURN p.born",
            split,
        )
    for i, title in enumerate(MOVIES):
        add(
            "cast",
            title,
            f"How many people acted in {title}?",
            f"MATCH (p:Person)-[:ACTED_IN]->(m:Movie {{title: '{title}'}}) RETURN count(p)",
            "train" if i % 2 == 0 else "test",
        )
    return rows


def write_questions(path: Path) -> Path:
    """The questions as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in questions()), encoding="utf-8")
    return path


def answer_to(prompt: str) -> str:
    """What the erring model says."""
    question = prompt.rsplit("Question: ", 1)[1].strip()
    gold = next(row for row in questions() if row["question"] == question)
    cypher = gold["cypher"]
    told = "Arrow as the schema shows it" in prompt
    if gold["id"].startswith("acted") and not told:
        cypher = cypher.replace("-[:ACTED_IN]->", "<-[:ACTED_IN]-")
    if gold["id"].startswith("cast"):
        cypher = cypher.replace("count(p)", "count(p) + 1")
    return f"```cypher\n{cypher}\n```"


class ModelServer:
    """An OpenAI-compatible endpoint on loopback that counts what it is asked."""

    def __init__(self, delay: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][-1]["content"]
                outer.asked[prompt] += 1
                time.sleep(delay)
                text = answer_to(prompt)
                reply = {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": body["model"],
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": text},
                        }
                    ],
                    "usage": {
                        "prompt_tokens": len(prompt) // 4,
                        "completion_tokens": 20,
                        "total_tokens": len(prompt) // 4 + 20,
                    },
                }
                data = json.dumps(reply).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    outer.answered[prompt] += 1
                except OSError:
                    pass

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
