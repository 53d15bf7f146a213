"""`./repro bench driver`: the replay driver beside LevelDB's own db_bench.

Both write the same keys in the same order into a database in memory, in turn, so that the ratio of
each pair holds even where the machine's speed drifts. The noise of the pairs stands beside it.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from recompact import build
from recompact.measure import data_root
from recompact.plan import digest
from recompact.shell import CommandError

PAIRS = 7
OPERATIONS = 1_000_000
VALUE_BYTES = 1000
MEMORY_OPERATIONS = 10_000_000
MEMORY_VALUE_BYTES = 100
KEY_BYTES = 16
SAMPLING_INTERVAL_S = 0.05
DB_BENCH_SEED = 1001  # of the first thread of the first benchmark
LEHMER_MULTIPLIER, LEHMER_MODULUS = 16807, 2**31 - 1  # of LevelDB's Random

CASTAGNOLI = 0x82F63B78
TRACE_VERSION = 2
HEADER = struct.Struct("<8sIIQQQI")
RECORD = struct.Struct("<QIB3x")
UPDATE = 2


@dataclass(frozen=True)
class Outcome:
    """One run: operations per second, and the most memory of its own that it held, in bytes.

    Mapped files do not count: db_bench maps its tables.
    """

    ops_s: float
    memory_bytes: int


def _crc32c_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (CASTAGNOLI if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc32c_table()


def crc32c(data: bytes) -> int:
    """Compute the CRC-32C of some bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def db_bench_keys(operations: int) -> list[int]:
    """List the key numbers that db_bench's fillrandom writes, in order."""
    keys = []
    seed = DB_BENCH_SEED
    for _ in range(operations):
        seed = seed * LEHMER_MULTIPLIER % LEHMER_MODULUS
        keys.append(seed % operations)
    return keys


def write_trace(path: Path, keys: list[int], value_bytes: int, key_count: int) -> None:
    """Write a trace of updates; the format is in the trace writer's TraceFile."""
    records = b"".join(RECORD.pack(key, value_bytes, UPDATE) for key in keys)
    header = HEADER.pack(
        *(b"RCTRACE\0", TRACE_VERSION, RECORD.size),
        *(len(keys), DB_BENCH_SEED, key_count, crc32c(records)),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + struct.pack("<I", crc32c(header)) + bytes(16) + records)


def _run(words: list[str | Path], root: Path) -> tuple[str, int]:
    """Run a program; return its output and the most memory of its own that it was seen with."""
    process = psutil.Popen(
        [str(word) for word in words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    memory_bytes = 0
    while True:
        try:
            output, _ = process.communicate(timeout=SAMPLING_INTERVAL_S)
            break
        except subprocess.TimeoutExpired:
            held = process.memory_info()
            memory_bytes = max(memory_bytes, held.rss - held.shared)
    if process.returncode != 0:
        raise CommandError(f"{words[0]}: status {process.returncode}\n{output}")
    return output, memory_bytes


def db_bench(root: Path, folder: Path, operations: int, value_bytes: int) -> Outcome:
    """Run db_bench's fillrandom."""
    database = data_root() / "recompact-db-bench"
    output, memory_bytes = _run(
        [
            folder / "db_bench",
            "--benchmarks=fillrandom",
            f"--db={database}",
            f"--num={operations}",
            f"--value_size={value_bytes}",
            "--compression_ratio=0.5",
        ],
        root,
    )
    shutil.rmtree(database, ignore_errors=True)
    found = re.search(r"fillrandom\s*:\s*([0-9.]+) micros/op", output)
    if found is None:
        raise CommandError(f"db_bench: no fillrandom line in its output\n{output}")
    return Outcome(1e6 / float(found[1]), memory_bytes)


def driver(root: Path, folder: Path, trace: Path) -> Outcome:
    """Replay a trace on the same engine with db_bench's options."""
    options = {"block_cache_bytes": 8 << 20, "bloom_bits_per_key": 0}
    spec = {
        "schema": 1,
        "engine": {"id": "pristine", "options": options},
        "device": {"id": "memory", "kind": "memory"},
        "scale_factor": 1,
        "seed": 1,
        "compressibility": 0.5,
        "key_order": "ordered",
        "value_checks": True,
        "timeline_interval_ms": 100,
        "start_from": None,
        "keep_database": False,
        "phases": [
            {
                "name": "run",
                "kind": "replay",
                "trace": str(trace),
                "start": 0,
                "count": None,
                "pace": {"kind": "closed"},
                "threads": 1,
                "warmup_operations": 0,
            }
        ],
    }
    spec["run"] = digest(spec)
    work = root / "build/bench"
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    (work / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    _, memory_bytes = _run(
        [
            folder / "driver/recompact_driver",
            "--spec",
            work / "spec.json",
            "--out",
            out,
            "--data-dir",
            data_root() / "recompact-bench",
            "--lock",
            data_root() / "recompact.lock",
        ],
        root,
    )
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return Outcome(record["phases"][0]["throughput_ops_s"], memory_bytes)


def bench_driver(root: Path) -> None:
    """Compare, print each pair, and leave build/bench/driver.json."""
    folder = root / "build/bench/pristine"
    build.build_bench(root, root / "build/trees/pristine", folder)
    trace = root / "build/bench/fillrandom.trace"
    write_trace(trace, db_bench_keys(OPERATIONS), VALUE_BYTES, OPERATIONS)
    ratios = []
    print(
        f"{OPERATIONS} random writes, {KEY_BYTES}-byte keys, {VALUE_BYTES}-byte values, in memory"
    )
    for pair in range(PAIRS):
        theirs = db_bench(root, folder, OPERATIONS, VALUE_BYTES)
        ours = driver(root, folder, trace)
        ratios.append(ours.ops_s / theirs.ops_s)
        print(
            f"pair {pair + 1}: db_bench {theirs.ops_s:.0f} ops/s, driver {ours.ops_s:.0f} ops/s, "
            f"ratio {ratios[-1]:.3f}",
            flush=True,
        )
    write_trace(trace, db_bench_keys(MEMORY_OPERATIONS), MEMORY_VALUE_BYTES, MEMORY_OPERATIONS)
    theirs = db_bench(root, folder, MEMORY_OPERATIONS, MEMORY_VALUE_BYTES)
    ours = driver(root, folder, trace)
    trace.unlink()
    beyond = ours.memory_bytes - theirs.memory_bytes
    result = {
        "pairs": ratios,
        "ratio_median": median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "memory_operations": MEMORY_OPERATIONS,
        "memory_beyond_db_bench_bytes": beyond,
    }
    (root / "build/bench/driver.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"ratio: median {median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"memory beyond db_bench's with {MEMORY_OPERATIONS} operations: {beyond / 1e6:.0f} MB")
