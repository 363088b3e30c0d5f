"""Compare TD3 with SBX and Stable-Baselines3: one seed, end to end."""

from benchmarks import peers, row


def measure() -> dict[str, object]:
    return peers.measure("td3")


if __name__ == "__main__":
    row.main(__file__, measure)
