"""Make the pictures of the README from results/paper: docs/images/curves.png and report.png. Needs Chromium."""

import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from teen.cli.main import main as teen

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1400, "height": 1000}  # down to the end of the table of scores


def write(name: str, content: bytes) -> None:
    """Write a picture with 128 colours, which is a third of the size."""
    picture = Image.open(io.BytesIO(content)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    picture.save(IMAGES / name, optimize=True)
    print(f"{IMAGES / name}: {(IMAGES / name).stat().st_size / 1e3:.0f} kB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        report = Path(folder) / "report"
        runs = sorted(map(str, (ROOT / "results/paper/runs").glob("*-HalfCheetah-v4,*")))
        teen(["report", *runs, "--steps", "500000,1000000", "--out", str(report)])
        write("curves.png", (report / "figures/HalfCheetah-v4-mean.png").read_bytes())
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=root)
        page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        page.goto((report / "index.html").as_uri())
        page.locator("#curves path.line").first.wait_for()
        write("report.png", page.screenshot())
        browser.close()


if __name__ == "__main__":
    main()
