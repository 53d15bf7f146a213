"""`./repro bench driver` and `./repro bench rocksdb`: the replay driver beside db_bench.

With LevelDB both write the same keys in the same order into a database in memory, in turn, so that
the ratio of each pair holds even where the machine's speed drifts. The noise of the pairs stands
beside it. With RocksDB keys are drawn alike, since its db_bench has a generator of its own, and
what two runs of db_bench differ by is the noise floor.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from recompact import build, environment
from recompact.experiments import Declarations, Scalar
from recompact.measure import data_root
from recompact.plan import digest, make
from recompact.publish import write_block
from recompact.shell import CommandError
from recompact.statistics import NoiseFloor, PairedRatio

PAIRS = 7
OPERATIONS = 1_000_000
VALUE_BYTES = 1000
QACP_VALUE_BYTES = 1024
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
        env=environment.kept(),
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
    database = data_root() / f"recompact-db-bench-{os.getuid()}"
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


def replay(
    root: Path,
    folder: Path,
    trace: Path,
    engine: str,
    options: Mapping[str, Scalar],
    compressibility: float,
) -> tuple[dict[str, Any], int]:
    """Replay a trace on an engine in memory.

    Returns
    -------
    tuple
        The run record's phase, and the most memory of its own.
    """
    spec: dict[str, Any] = {
        "schema": 1,
        "engine": {"id": engine, "options": dict(options)},
        "device": {"id": "memory", "kind": "memory"},
        "scale_factor": 1,
        "seed": 1,
        "compressibility": compressibility,
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
            },
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
            data_root() / f"recompact-bench-{os.getuid()}",
            "--lock",
            data_root() / "recompact.lock",
        ],
        root,
    )
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    (phase,) = record["phases"]
    return phase, memory_bytes


def driver(root: Path, folder: Path, trace: Path) -> Outcome:
    """Replay a trace on LevelDB as released with db_bench's options."""
    options = {"block_cache_bytes": 8 << 20, "bloom_bits_per_key": 0}
    phase, memory_bytes = replay(root, folder, trace, "pristine", options, compressibility=0.5)
    return Outcome(phase["throughput_ops_s"], memory_bytes)


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


def rocksdb_options(root: Path, engine: str) -> dict[str, Scalar]:
    """Give the options of the runs of QACP Fig. 2 at the small scale."""
    declarations = Declarations(root)
    plan = make(declarations, "small", ["qacp_random"])
    options: dict[str, Scalar] = next(
        run.spec["engine"]["options"] for run in plan.runs.values() if run.engine == engine
    )
    return options


def rocksdb_db_bench(root: Path, options: Mapping[str, Scalar]) -> dict[str, float]:
    """Run the fillrandom of RocksDB's db_bench; return throughput and write amplification.

    It does not wait for compactions: db_bench's own way to do so never ends with universal.
    """
    database = data_root() / f"recompact-db-bench-{os.getuid()}"
    universal = options["compaction_style"] == "kCompactionStyleUniversal"
    words = {
        "benchmarks": "fillrandom",
        "db": database,
        "num": OPERATIONS,
        "key_size": KEY_BYTES,
        "value_size": QACP_VALUE_BYTES,
        "compression_ratio": 1.0,
        "compression_type": options["compression"],
        "compaction_style": int(universal),
        "write_buffer_size": options["write_buffer_size"],
        "target_file_size_base": options["max_file_size"],
        "max_bytes_for_level_base": options["level_base_bytes"],
        "max_bytes_for_level_multiplier": options["fanout"],
        "soft_pending_compaction_bytes_limit": options["soft_pending_compaction_bytes_limit"],
        "hard_pending_compaction_bytes_limit": options["hard_pending_compaction_bytes_limit"],
        "level0_file_num_compaction_trigger": options["l0_compaction_trigger"],
        "level0_slowdown_writes_trigger": options["l0_slowdown_trigger"],
        "level0_stop_writes_trigger": options["l0_stop_trigger"],
        "num_levels": options["num_levels"],
        "cache_size": options["block_cache_bytes"],
        "block_size": options["block_size"],
        "open_files": options["max_open_files"],
        "max_background_jobs": options["max_background_jobs"],
        "enable_pipelined_write": "false",
        "statistics": "true",
    }
    output, _ = _run(["db_bench", *(f"--{name}={value}" for name, value in words.items())], root)
    shutil.rmtree(database, ignore_errors=True)
    speed = re.search(r"fillrandom\s*:\s*([0-9.]+) micros/op", output)
    written = re.findall(r"rocksdb\.(?:flush|compact)\.write\.bytes COUNT : (\d+)", output)
    if speed is None or not written:
        raise CommandError(f"db_bench: no fillrandom line or statistics in its output\n{output}")
    user = OPERATIONS * (KEY_BYTES + QACP_VALUE_BYTES)
    return {
        "throughput_ops_s": 1e6 / float(speed[1]),
        "write_amplification": sum(map(int, written)) / user,
    }


def rocksdb_driver(
    root: Path, trace: Path, engine: str, options: Mapping[str, Scalar]
) -> dict[str, float]:
    """Replay random writes on RocksDB; return what `rocksdb_db_bench` does."""
    folder = root / "build/engines" / engine
    phase, _ = replay(root, folder, trace, engine, options, compressibility=1.0)
    count = phase["counters"]
    return {
        "throughput_ops_s": phase["throughput_ops_s"],
        "write_amplification": count["table_bytes_written"] / count["user_bytes_written"],
    }


def bench_rocksdb(root: Path) -> None:
    """Repeat QACP Fig. 2(a) and (d) with db_bench; print both and put them into the README.

    Of each triple the driver runs between two runs of db_bench, whose difference is the noise.
    """
    if shutil.which("db_bench") is None:
        raise CommandError("there is no db_bench; install rocksdb-tools")
    trace = root / "build/bench/rocksdb.trace"
    keys = random.Random(DB_BENCH_SEED)
    write_trace(
        trace, [keys.randrange(OPERATIONS) for _ in range(OPERATIONS)], QACP_VALUE_BYTES, OPERATIONS
    )
    lines = [
        "| engine | metric | driver over db_bench [95 %] | two runs of db_bench differ by |",
        "| --- | --- | --- | --- |",
    ]
    for engine in ("rocksdb_leveled", "rocksdb_universal"):
        options = rocksdb_options(root, engine)
        triples = []
        for _ in range(PAIRS):
            before = rocksdb_db_bench(root, options)
            ours = rocksdb_driver(root, trace, engine, options)
            triples.append((before, ours, rocksdb_db_bench(root, options)))
        for metric in triples[0][0]:
            first, mine, second = (
                [run[metric] for run in runs] for runs in zip(*triples, strict=True)
            )
            theirs = [(one + other) / 2 for one, other in zip(first, second, strict=True)]
            ratio = PairedRatio()(mine, theirs)
            lines.append(
                f"| {engine} | {metric} | {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] "
                f"| {NoiseFloor()(first, second):.1%} |"
            )
            print(lines[-1], flush=True)
    trace.unlink()
    write_block(root / "engines/rocksdb/README.md", "db_bench", lines)
