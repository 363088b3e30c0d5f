"""The flags that say where jobs run, and what each gets there."""

import argparse
import math
from typing import Literal

from ..errors import UserError
from ..jobs.packing import CORES
from .parser import Parser

Gpus = float | Literal["auto"] | None
LEAST = 0.0001  # share of a core or a GPU that Ray can count


def add_where(parser: Parser) -> None:
    parser.add_argument("--on", choices=("local", "ray"), default="local", help="this machine, or a Ray cluster")
    parser.add_argument("--address", help="the cluster's; without it, one starts here and ends with the command")
    parser.add_argument("--cores", type=_cores, metavar="FLOAT", help=f"cores of a job, on ray (default {CORES:g})")
    share = "GPUs of a job; below 1: a share of one; auto: a share by its memory and speed"
    share += " (default none on ray, what JAX finds on local)"
    parser.add_argument("--gpus", type=_gpus, metavar="FLOAT|auto", help=share)
    again = "how often a job goes on whose process or machine was lost (default 3)"
    parser.add_argument("--retries", type=_retries, default=3, metavar="INT", help=again)


def check_where(on: str, address: str | None, cores: float | None) -> None:
    """Raise a UserError for what a cluster is told without a cluster."""
    if address and on != "ray":
        raise UserError("--address is that of a Ray cluster: say --on ray, too")
    if cores is not None and on != "ray":
        raise UserError("--cores is for --on ray: here, one job at a time has all cores")


def _cores(text: str) -> float:
    number = _number(text)
    if not LEAST <= number <= 10_000:
        raise argparse.ArgumentTypeError(f"must be a number from {LEAST:g} to 10,000, not {text!r:.40}")
    return number


def _gpus(text: str) -> Gpus:
    if text == "auto":
        return "auto"
    number = _number(text)
    if number != 0 and not (LEAST <= number <= 1 or (1 < number <= 1_000 and number == int(number))):
        allowed = f"must be auto, a share from {LEAST:g} to 1, or a whole number"
        raise argparse.ArgumentTypeError(f"{allowed}, not {text!r:.40}")
    return number


def _retries(text: str) -> int:
    number = _number(text)
    if not (0 <= number <= 1_000 and number == int(number)):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 1,000, not {text!r:.40}")
    return int(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
