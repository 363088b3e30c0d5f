"""A sweep: many seeds, every command over each, in workers that are ended when a command takes too long.

python -m tests.hostile.sweep --seconds 600           # random seeds; without --seconds until Ctrl-C
python -m tests.hostile.sweep --seed 123              # this seed, with what was done to the folder
python -m tests.hostile.sweep --seed 123 --keep DIR   # and keep the folder, to look at it
"""

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from threading import Lock, Thread

from . import generator
from .commands import COMMANDS
from .process import Result, Worker


def commands_for(seed: int, heavy: int) -> list[str]:
    """Return the light commands and some of the others. The paper's runs are for drawing its figures, which analyses
    them; to analyse them by themselves too takes seconds each."""
    others = [name for name, command in COMMANDS.items() if not command.light]
    if heavy < len(others):
        papers = generator.plan(seed).base == "paper"
        others.remove("analyze" if papers else "paper --draw")
        chosen = Random(f"commands {seed}").sample(others, heavy)
        others = [*chosen[:-1], "paper --draw"] if papers and chosen else chosen
    return [name for name, command in COMMANDS.items() if command.light or name in others]


def sweep(seeds: Iterable[int], work: Path, workers: int = 1, heavy: int = len(COMMANDS)) -> Iterator[Result]:
    """Yield the result of every command over every seed's folder. Valid runs are trained first, where there are
    none."""
    queue, results, lock = iter(seeds), list[Result](), Lock()
    pool = [Worker(work) for _ in range(workers)]
    pool[0].make_valid()

    def go_on(worker: Worker) -> None:
        while not worker.closed:
            with lock:
                seed = next(queue, None)
            if seed is None:
                return worker.close()
            results.extend(worker.try_seed(seed, commands_for(seed, heavy)))

    threads = [Thread(target=go_on, args=(worker,), daemon=True) for worker in pool]
    for thread in threads:
        thread.start()
    try:
        while results or any(thread.is_alive() for thread in threads):
            if results:
                yield results.pop(0)
            else:
                time.sleep(0.05)
    finally:
        for worker in pool:
            worker.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.sweep", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, action="append", help="this one; may be given several times")
    parser.add_argument("--first", type=int, help="the first of many (default: a random one)")
    parser.add_argument("--count", type=int, help="how many (default: until the time is over)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for how long (default: until Ctrl-C)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--heavy", type=int, default=len(COMMANDS), help="how many of the slow commands for each seed")
    parser.add_argument("--keep", type=Path, help="leave the folder of --seed there, and the valid runs beside it")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hostile-") as temporary:
        work = (flags.keep or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        first = random.randrange(10**9) if flags.first is None else flags.first
        print(f"from seed {first} on" if not flags.seed else f"seeds {flags.seed}", flush=True)
        seeds = iter(flags.seed) if flags.seed else _seeds(first, flags.count, flags.seconds)
        failed = _show(sweep(seeds, work, flags.workers, flags.heavy), bool(flags.seed))
        for seed in flags.seed or () if flags.keep else ():
            generator.build(generator.plan(seed), work / f"seed-{seed}", work / "valid")
            print(f"kept in {work / f'seed-{seed}'}")
    return 1 if failed else 0


def _seeds(first: int, count: int | None, seconds: float) -> Iterator[int]:
    begin = time.monotonic()
    for seed in itertools.count(first) if count is None else range(first, first + count):
        if time.monotonic() - begin > seconds:
            return
        yield seed


def _show(results: Iterable[Result], everything: bool) -> bool:
    """Print failures as they come, and now and then how far it is. Return whether there was any."""
    seeds, codes, times, failures = set[int](), Counter[str](), Counter[str](), 0
    begin = shown = time.monotonic()
    try:
        for result in results:
            seeds.add(result.seed)
            codes[f"{result.command}: {result.code}"] += 1
            times[result.command] += result.seconds
            failures += bool(result.problems)
            if result.problems or everything:
                print(result, flush=True)
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(
                    f"{len(seeds)} folders, {sum(codes.values())} commands, {failures} failed, {shown - begin:.0f} s",
                    flush=True,
                )
    except KeyboardInterrupt:
        print()
    print(
        f"{len(seeds)} folders, {failures} of {sum(codes.values())} commands failed, {time.monotonic() - begin:.0f} s"
    )
    for name, count in sorted(codes.items()):
        print(f"  {count:5} {name}")
    print(", ".join(f"{name}: {seconds:.0f} s" for name, seconds in times.items()))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
