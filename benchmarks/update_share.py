"""Compare updates with a large matrix product on the same machine, in GFLOP/s counted by hand."""

from benchmarks import flops, loops, machine, row


def measure() -> dict[str, object]:
    product = machine.matmul_gflops()
    updates = []
    for algo, count in (("teen", flops.teen), ("td3", flops.td3)):
        operations = count(*loops.HALFCHEETAH, loops.HIDDEN, loops.BATCH)
        for lanes in (1, 3):
            seconds = loops.update_seconds(algo, lanes)
            gflops = operations * lanes / seconds / 1e9
            share = gflops / product
            updates.append({"algo": algo, "lanes": lanes, "ms": seconds * 1e3, "gflops": gflops, "share": share})
            print(f"  {algo}, {lanes} lanes: {seconds * 1e3 / lanes:.2f} ms a lane, {share:.0%}", flush=True)
    return {"values": {"update_share": updates[0]["share"] * 100}, "matmul_gflops": product, "updates": updates}


if __name__ == "__main__":
    row.main(__file__, measure)
