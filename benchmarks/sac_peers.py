"""Compare SAC with SBX and Stable-Baselines3: one seed, end to end."""

from benchmarks import peers, row


def measure() -> dict[str, object]:
    return peers.measure("sac")


if __name__ == "__main__":
    row.main(__file__, measure)
