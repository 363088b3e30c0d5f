"""`teen serve`: runs in a browser on this machine, live."""

from pathlib import Path

from ..report.serve import PORT, Server
from ..report.terminal import say
from .parser import Parser


def parser() -> Parser:
    parser = Parser(prog="teen serve", description="Runs in a browser on this machine, live.")
    parser.add_argument("folder", type=Path, metavar="RUNS_DIR", help="a folder of run folders")
    parser.add_argument("--port", type=int, default=PORT, help=f"of 127.0.0.1 (default {PORT}; 0: any free one)")
    return parser


def command(arguments: list[str]) -> int:
    flags = parser().parse_args(arguments)
    with Server(flags.folder, flags.port) as server:
        say(f"{server.url} shows {flags.folder}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
