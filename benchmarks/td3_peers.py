"""TD3 end to end, one seed, beside SBX and Stable-Baselines3."""

from benchmarks import peers, row


def measure() -> dict[str, object]:
    return peers.measure("td3")


if __name__ == "__main__":
    row.main(__file__, measure)
