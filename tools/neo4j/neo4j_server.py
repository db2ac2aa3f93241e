#!/usr/bin/env python3
"""Run a real Neo4j community server on loopback, from Maven Central; needs Java and Maven, nothing else.

    neo4j_server.py start                         an empty server on bolt://127.0.0.1:7687
    neo4j_server.py start wwc --dump FILE.dump    a second one, named, with a database dump loaded
    neo4j_server.py start plain --no-apoc --port 0 --password secret-enough
    neo4j_server.py status | stop [NAME ...] | destroy [NAME ...]

Each named server has its own port, data and logs under --home. Community edition holds one user
database a server, so start one server a graph (about 0.7 GiB each). `start` returns once Bolt
answers and prints the URI on stdout. A server that is already running is left as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

HERE = Path(__file__).resolve().parent
RELEASES = {
    "5": "5.26.30",
    "2026": "2026.08.1",
}  # 2026 needs Java 21 or newer and has no APOC on Maven Central
OPENS = ["java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch", "java.base/java.lang"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=Path.home() / ".cache" / "neo4j-loopback")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start")
    start.add_argument("name", nargs="?", default="default")
    start.add_argument(
        "--dump", type=Path, help="load this .dump first, replacing what the server held"
    )
    start.add_argument("--port", type=int, default=7687, help="Bolt port; 0 takes a free one")
    start.add_argument("--release", choices=sorted(RELEASES), default="5")
    start.add_argument("--no-apoc", action="store_true")
    start.add_argument(
        "--password", help="switch authentication on, user neo4j (8 characters or more)"
    )
    start.add_argument("--heap", default="1g")
    start.add_argument("--wait", type=float, default=300.0, help="seconds it may take to answer")
    for name in ("stop", "destroy"):
        commands.add_parser(name).add_argument("names", nargs="*")
    commands.add_parser("status")
    options = parser.parse_args()
    servers = options.home / "servers"
    if options.command == "start":
        return run(options, servers / options.name)
    known = sorted(path.name for path in servers.glob("*") if path.is_dir())
    for name in getattr(options, "names", None) or known:
        server = servers / name
        if options.command == "status":
            print(
                f"{name}\t{read(server / 'run' / 'uri') or '-'}\t{'running' if pid_of(server) else 'stopped'}"
            )
            continue
        stop(server)
        if options.command == "destroy":
            shutil.rmtree(server, ignore_errors=True)
    return 0


def run(options: argparse.Namespace, server: Path) -> int:
    if pid_of(server):
        print(read(server / "run" / "uri"))
        return 0
    apoc = options.release == "5" and not options.no_apoc
    java = java_for(options.release)
    jars = libraries(options.home, RELEASES[options.release], apoc)
    for folder in ("conf", "data", "plugins", "logs", "run", "import"):
        (server / folder).mkdir(parents=True, exist_ok=True)
    for old in (server / "plugins").glob("*.jar"):
        old.unlink()
    for jar in jars.glob("apoc-*.jar"):
        shutil.copy2(jar, server / "plugins")
    port = options.port or free_port()
    if port_open(port):
        print(f"port {port} is taken; pass --port 0 for a free one", file=sys.stderr)
        return 1
    (server / "conf" / "neo4j.conf").write_text(
        "\n".join(
            [
                "server.default_listen_address=127.0.0.1",
                f"server.bolt.listen_address=127.0.0.1:{port}",
                "server.http.enabled=false",
                f"dbms.security.auth_enabled={'true' if options.password else 'false'}",
                f"server.memory.heap.max_size={options.heap}",
                "server.memory.pagecache.size=256m",
                "dbms.usage_report.enabled=false",
                *(["dbms.security.procedures.unrestricted=apoc.*"] if apoc else []),
                "",
            ]
        )
    )
    classpath = f"{jars}/*" if not apoc else f"{server}/plugins/*:{jars}/*"
    environment = os.environ | {"NEO4J_HOME": str(server), "NEO4J_CONF": str(server / "conf")}
    admin = [java, "-cp", classpath, "org.neo4j.cli.AdminTool"]
    if options.dump:
        with options.dump.open("rb") as dump:
            check(
                [
                    *admin,
                    "database",
                    "load",
                    "neo4j",
                    "--from-stdin",
                    "--overwrite-destination=true",
                ],
                environment,
                dump,
            )
    if options.password and not (server / "data" / "dbms").exists():
        check([*admin, "dbms", "set-initial-password", options.password], environment)
    log = (server / "logs" / "console.log").open("wb")
    opens = [f"--add-opens={name}=ALL-UNNAMED" for name in OPENS]
    process = subprocess.Popen(
        [
            java,
            f"-Xmx{options.heap}",
            *opens,
            "-cp",
            classpath,
            entry_point(jars),
            f"--home-dir={server}",
            f"--config-dir={server / 'conf'}",
        ],
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    (server / "run" / "pid").write_text(str(process.pid))
    (server / "run" / "uri").write_text(f"bolt://127.0.0.1:{port}")
    deadline = time.monotonic() + options.wait
    while time.monotonic() < deadline and process.poll() is None:
        if bolt_answers(port):
            print(f"bolt://127.0.0.1:{port}")
            return 0
        time.sleep(0.5)
    stop(server)
    print(f"the server did not start; the end of {server / 'logs'}:", file=sys.stderr)
    for name in ("console.log", "neo4j.log"):
        print(read(server / "logs" / name)[-1500:], file=sys.stderr)
    return 1


def libraries(home: Path, version: str, apoc: bool) -> Path:
    folder = home / "lib" / (version + ("-apoc" if apoc else ""))
    if not (folder / ".complete").exists():
        if not shutil.which("mvn"):
            raise SystemExit("Maven (mvn) is needed to fetch the server")
        print(f"fetching neo4j {version} with Maven ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy2(HERE / "pom.xml", folder / "pom.xml")
        check(
            [
                "mvn",
                "-q",
                "-B",
                "-f",
                str(folder / "pom.xml"),
                f"-Dneo4j.version={version}",
                *(["-Papoc"] if apoc else []),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={folder}",
                "-DincludeScope=runtime",
            ],
            dict(os.environ),
        )
        (folder / ".complete").touch()
    return folder


def entry_point(jars: Path) -> str:
    """The server's main class; releases name it differently."""
    for jar in jars.glob("neo4j-2*.jar" if jars.name.startswith("2") else "neo4j-5*.jar"):
        with ZipFile(jar) as archive:
            return (
                archive.read("META-INF/services/org.neo4j.server.startup.EntryPoint")
                .decode()
                .split()[0]
            )
    raise SystemExit(f"no server jar in {jars}; delete that folder and start again")


def java_for(release: str) -> str:
    """The first Java that fits: 17 to 21 for release 5, 21 or newer for 2026."""
    wanted = range(17, 22) if release == "5" else range(21, 100)
    homes = [
        os.environ.get("JAVA_HOME", ""),
        *sorted(str(path) for path in Path("/usr/lib/jvm").glob("*")),
    ]
    candidates = ["java", *(f"{home}/bin/java" for home in homes if home)]
    for java in candidates:
        if shutil.which(java):
            text = subprocess.run(
                [java, "-version"], capture_output=True, text=True, check=False
            ).stderr
            found = re.search(r'version "(\d+)', text)
            if found and int(found[1]) in wanted:
                return java
    raise SystemExit(
        f"no Java {wanted.start} to {wanted.stop - 1} found; Neo4j {RELEASES[release]} needs one"
    )


def check(
    command: list[str], environment: dict[str, str], stdin: object = subprocess.DEVNULL
) -> None:
    done = subprocess.run(
        command, env=environment, stdin=stdin, capture_output=True, text=True, check=False
    )  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(
            f"{command[0]} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-2000:]}"
        )


def stop(server: Path) -> None:
    pid = pid_of(server)
    if not pid:
        return
    os.kill(pid, signal.SIGTERM)
    for _ in range(120):
        if not pid_of(server):
            break
        time.sleep(0.25)
    else:
        os.kill(pid, signal.SIGKILL)
    (server / "run" / "pid").unlink(missing_ok=True)


def pid_of(server: Path) -> int:
    """The server's process id, 0 unless that process runs and is this server."""
    text = read(server / "run" / "pid")
    try:
        command = Path(f"/proc/{int(text)}/cmdline").read_bytes().decode(errors="replace")
    except (OSError, ValueError):
        return 0
    return int(text) if str(server) in command else 0


def bolt_answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(2)
            connection.sendall(
                bytes.fromhex("6060b017" + "00000405" + "00000404" + "00000005" + "00000004")
            )
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def port_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
