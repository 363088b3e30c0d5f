"""Build the documentation site: make docs. Warnings are errors, and nothing is fetched from a network."""

import argparse
import logging
import os
import sys
import tempfile
from pathlib import Path

os.environ["NO_MKDOCS_2_WARNING"] = "1"  # an advertisement for its successor, see mkdocs.yml

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from .commands import reference
from .formulas import draw_all
from .staging import ROOT, stage


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="folder of the site (default site)")
    out = parser.parse_args(arguments).out.resolve()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    with tempfile.TemporaryDirectory(prefix="teen-docs-") as folder:
        stage(Path(folder), {"commands": reference()})
        config = load_config(str(ROOT / "mkdocs.yml"), docs_dir=folder, site_dir=str(out), strict=True)
        config.plugins.run_event("startup", command="build", dirty=False)
        try:
            build(config)
        except Abort as error:
            print(f"make docs: {error}", file=sys.stderr)
            return 1
        finally:
            config.plugins.run_event("shutdown")
    draw_all(out)
    print(f"{out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
