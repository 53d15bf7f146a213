"""Raw run directories as the driver writes them, with made-up but realistic numbers."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recompact.evaluate import styles
from recompact.hosts import REAL
from recompact.pipeline import declarations
from recompact.tables import TIMELINE_COLUMNS

STYLES = styles()
ROCKSDB = tuple(name for name in STYLES if name.startswith("rocksdb"))
# What it does not tell (engines/rocksdb/README.md, Counters).
UNTOLD_BY_ROCKSDB = re.compile(
    "(buffer|scan|gets_from_buffer|cache_invalidated|filter_bytes|compaction_block)|"
    "compaction_(crc|decompress|sort|compress|recrc|read|write|sync|flush|readq|writeq)_us"
)
LDC_THRESHOLD = 10
PIPELINES = ("scp", "pcp", "pcp_adaptive", "ldc_pcp")
# Microseconds that a step takes for 2^20 bytes of 100-byte values, reads and writes on each device.
STEPS = {
    "compaction_crc_us": 210,
    "compaction_decompress_us": 150,
    "compaction_sort_us": 1500,
    "compaction_compress_us": 2400,
    "compaction_recrc_us": 240,
}
DEVICE_STEPS = {"sata_ssd": (1230, 1520), "hdd_7200": (5210, 2130), "memory": (40, 40)}
TREES = {"leveldb": "3f9a1c52", "leveldb_checked": "3f9a1c52", "pristine": "77e0b1d4"}
TREES |= dict.fromkeys(PIPELINES, "ab12cd34")
DLSM_TREES = ("two_phase", "dlsm", "dlsm_tree_filters", "dlsm_trimmed")
DLSM_TREES += ("two_phase_table_filters", "dlsm_table_filters")
TREES |= dict.fromkeys(DLSM_TREES, "d15e0b0f") | {"stepped_merge": "57e99ed0"}
TREES |= {"lwc": "1c77ab09", "lwc_files": "1c77ab09", "leveldb_at_once": TREES["leveldb"]}
TREES |= {"ldc": "5d1c0a77", "ldc_adaptive": "5d1c0a77", "ldc_release": "5d1c0a77"}
TREES |= dict.fromkeys(ROCKSDB, "40c5db00")
DEVICES: dict[str, dict[str, Any]] = {
    "memory": {"id": "memory", "kind": "memory"},
    "pcie_ssd": {
        "id": "pcie_ssd",
        "kind": "ssd",
        "read_bandwidth_mb_s": 2000,
        "write_bandwidth_mb_s": 1000,
    },
    "hdd_7200": {
        "id": "hdd_7200",
        "kind": "hdd",
        "read_bandwidth_mb_s": 150,
        "write_bandwidth_mb_s": 140,
    },
}
DEVICES |= {name: DEVICES["pcie_ssd"] | {"id": name} for name in ("sata_ssd", "sata_ssd_860")}
DEVICES |= {
    name: DEVICES["hdd_7200"] | {"id": name, "kind": kind}
    for name, kind in (
        *((name, "smr") for name in ("smr", "smr_small_cache", "smr_own_bands")),
        ("zoned_smr", "zoned_smr"),
    )
}
DEVICES["limited"] = DEVICES["pcie_ssd"] | {"id": "limited"}
DEVICES["hdd_15k_raid0"] = {"id": "hdd_15k_raid0", "kind": "raid0", "members": 2}
DEVICES["hdd_7200_raid0"] = {"id": "hdd_7200_raid0", "kind": "raid0", "members": 1}
PAIR_BYTES = {"LDC": 1040, "LWC": 4112, "PCP": 116, "DLSM": 1024, "QACP": 1040}


@dataclass(frozen=True)
class Reads:
    """What reads of dLSM's experiments see: a hit ratio that swings so often, at a rate."""

    hit: float
    swing: float
    waves: float
    rate: float


DLSM_ENGINES = (*DLSM_TREES, "stepped_merge")
DLSM_READS = {
    "LATEST-RANGEHOT": {
        "read_only": Reads(0.965, 0.004, 4, 3400),
        "two_phase": Reads(0.47, 0.3, 10, 340),
        "dlsm": Reads(0.94, 0.03, 10, 2900),
        "stepped_merge": Reads(0.9, 0.05, 8, 1800),
    },
    "LATEST-ZIPFIAN": {
        "read_only": Reads(0.97, 0.003, 4, 3600),
        "two_phase": Reads(0.65, 0.2, 12, 498),
        "dlsm": Reads(0.91, 0.05, 3, 2900),
    },
    "LATEST-UNIFORM": {
        "read_only": Reads(0.55, 0.004, 4, 1000),
        "two_phase": Reads(0.2, 0.02, 10, 140),
        "dlsm": Reads(0.46, 0.02, 2, 866),
    },
}
# Of each engine: filters asked per get, blocks looked at, tables of a range query, queries per
# second, bytes of tables written per byte inserted.
DLSM_COSTS = {
    "leveldb": (2.95, 1.002, 5, 22, 34),
    "two_phase": (3.9, 1.003, 6, 20, 24),
    "dlsm": (16, 1.02, 6.1, 19.8, 24),
    "dlsm_tree_filters": (5, 1.004, 6.1, 19.8, 24),
    "dlsm_trimmed": (12, 1.015, 6.1, 19.8, 24),
    "two_phase_table_filters": (3.9, 1, 6, 20, 24),
    "dlsm_table_filters": (16, 1.001, 6.1, 19.8, 24),
    "stepped_merge": (22, 1.05, 26.4, 5.5, 4),
}
# Levels with data, in S_1, and what is merged with a byte that enters one.
LEVELED = ({1: 1, 2: 10, 3: 89}, {1: 10, 2: 10, 3: 10})
TWO_PARTS = ({1: 0.5, 2: 0.5, 3: 5, 4: 5, 5: 89}, {1: 5, 3: 5, 5: 10})
STEPPED = ({1: 1, 2: 10, 3: 89}, {1: 0, 2: 0, 3: 10})
DLSM_LEVELS = dict.fromkeys(DLSM_ENGINES, TWO_PARTS)
DLSM_LEVELS |= dict.fromkeys(("leveldb", *ROCKSDB), LEVELED) | {"stepped_merge": STEPPED}
OTHER_READINGS = ("LATEST-RANGEHOT-FEW", "LATEST-RANGEHOT-MANY", "LATEST-KEYRANGE")
BUFFER_SHARE = 0.085  # of the tree
# Of each engine that LWC-tree is compared with: bytes of tables written per byte loaded, loads and
# reads per second on a hard disk; of each shingled disk and engine, AWA.
LWC_COSTS = {
    "leveldb": (11.5, 450, 70),
    "lwc": (4.6, 1500, 62),
    "lwc_files": (4.6, 1400, 62),
    "leveldb_at_once": (11.5, 700, 70),
    "ldc": (7, 800, 64),
    "stepped_merge": (4, 1800, 45),
    "rocksdb_leveled": (6, 200, 62),
    "rocksdb_leveled_8mb_tables": (8, 1200, 62),
    "rocksdb_universal": (8, 900, 45),
    "rocksdb_universal_8mb_tables": (8.2, 1300, 45),
}
# Of RocksDB: bytes of tables written per byte of random and of ascending writes, compactions per
# thousand writes, writes and reads per second, blocks read per operation; levels as they are while
# it writes, and for how much of the time it hardly does.
QACP_COSTS = {
    "rocksdb_leveled": (9, 1.02, 0.6, 40000, 9000, 1.3, "12 4 40 300", 0.04),
    "rocksdb_leveled_single_moves": (9, 1.02, 0.6, 40000, 9000, 1.3, "12 4 40 300", 0.04),
    "rocksdb_universal": (5, 4, 0.1, 60000, 6000, 3.1, "4 0 0 1 40 90 300", 0.2),
    "rocksdb_universal_trivial_move": (5, 1.05, 0.1, 60000, 6000, 3.1, "4 0 0 1 40 90 300", 0.02),
}
LWC_DISKS = {"smr": 2.6, "smr_small_cache": 3.9, "smr_own_bands": 1.1, "zoned_smr": 1.0}
PROFILE = {
    ("compaction", "DoCompactionWork"): 0.33,
    ("compression", "DoCompactionWork"): 0.14,
    ("checksum", "DoCompactionWork"): 0.06,
    ("cache", "DoCompactionWork"): 0.02,
    ("file_system", "file_system_kernel"): 0.19,
    ("write_path", "DoWrite"): 0.05,
    ("memtable", "DoWrite"): 0.06,
    ("memtable", "others"): 0.03,
    ("bloom", "others"): 0.03,
    ("other", "others"): 0.09,
}
SAMPLES = 20000
VARIES = ("", "seed", "costs", "costs", "ties")  # of each member of an ensemble
TIMES = ("time_memory", "time_sizes", "time_ssd", "time_hdd")  # each in real time, and simulated
KEEP_EVENTS = {name: entry.keep_events for name, entry in declarations().experiments.items()}
THINNING = {
    "ldc_fanout": "left out: fanout 5, 8",
    "lwc_load": "left out: size_gb 6, 8, 9",
}


@dataclass
class Campaign:
    """What to write.

    Attributes
    ----------
    root : Path
        Receives raw/ and plan.json.
    scale, factor, repetitions, thin
        The scale.
    noise : float
        Relative spread of times; bytes spread by a tenth of it.
    experiments : collection of str
        Write only these; all by default.
    peers : bool
        Write RocksDB's runs in the experiments of other papers too.
    skip_profile : str
        Why the profiled run was skipped; it is written by default.
    simulated : bool
        Write runs of experiments that name a simulated host as runs on it.
    """

    root: Path
    scale: str = "smoke"
    factor: int = 64
    repetitions: int = 1
    thin: bool = True
    noise: float = 0.06
    experiments: Collection[str] = ()
    peers: bool = True
    skip_profile: str = ""
    simulated: bool = True

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(7)
        self.steps_rng = np.random.default_rng(11)
        self.clock = datetime(2026, 11, 21, 10, tzinfo=UTC)
        self.runs: list[dict[str, Any]] = []

    @property
    def raw(self) -> Path:
        """Folder of the run directories."""
        return self.root / "raw"

    def write(self) -> Path:
        """Write all runs and the plan; return the plan's path."""
        of_peers: list[tuple[Any, ...]] = []
        for repetition in range(1, self.repetitions + 1):
            for row in self._matrix():
                of_peers += self._rows_of_peers(*row, repetition)
                self._add(*row, repetition)
        for repetition in range(1, max(2, self.repetitions) + 1):
            for experiment, engine, copy in (
                ("noise", "leveldb", 1),
                ("noise", "leveldb", 2),
                ("parity", "pristine", 1),
                ("parity", "leveldb", 1),
            ):
                phases = [self._ldc_phase("run", 250000 // 16, 0.5, 10)]
                self._add(experiment, {"copy": copy}, engine, "pcie_ssd", phases, repetition)
        for engine in ("leveldb", "ldc"):
            phases = [self._ldc_phase("run", 10_000_000 // self.factor, 1, 10, engine)]
            self._add("ldc_profile", {}, engine, "pcie_ssd", phases, 1, profile=True)
        for matrix in (
            *(self._pcp_matrix, self._dlsm_matrix, self._qacp_matrix, self._ycsb_matrix),
            *(self._queue_matrix, self._parallel_matrix, self._time_matrix),
        ):
            for repetition in range(1, self.repetitions + 1):
                for row in matrix():
                    of_peers += self._rows_of_peers(*row, repetition)
                    self._add(*row, repetition)
        for row_of_peer in of_peers:
            self._add(*row_of_peer)
        plan = {
            "schema": 1,
            "scale": self.scale,
            "thinning": THINNING if self.thin else {},
            "runs": self.runs,
        }
        path = self.root / "plan.json"
        path.write_text(json.dumps(plan))
        return path

    def _rows_of_peers(
        self,
        experiment: str,
        point: dict[str, Any],
        engine: str,
        device: str,
        phases: list[dict[str, Any]],
        repetition: int,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the runs of RocksDB beside that of the first engine of another paper."""
        declared = declarations().experiments[experiment].engines
        if not self.peers or engine != declared[0] or engine in ROCKSDB:
            return
        for peer in declared:
            if peer in ROCKSDB:
                told = deepcopy(phases)
                for phase in told:
                    phase["counters"] = {
                        name: value
                        for name, value in phase["counters"].items()
                        if not UNTOLD_BY_ROCKSDB.match(name)
                    }
                yield experiment, point, peer, device, told, repetition

    def _matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield experiment, point, engine, device and phases."""
        ten_million = 10_000_000 // self.factor
        both = ("leveldb", "ldc")
        mixes = {"WO": 1, "WH": 0.7, "RWB": 0.5, "RH": 0.3, "RO": 0}
        for experiment, engines, points, operations in (
            ("ldc_latency", (*both, "ldc_release"), [{}], 2 * ten_million),
            (
                "ldc_direct",
                (*both, "ldc_release"),
                self._sweep("workload", ["WH"], ["WO", "RWB", "RH"]),
                ten_million,
            ),
            ("ldc_profile", both, [{"workload": "WO"}], ten_million),
            ("ldc_fanout", both, self._sweep("fanout", [3, 10, 25, 100], [5, 8]), ten_million),
            ("ldc_threshold", ("ldc",), self._sweep("threshold", [2, 10, 40], [5]), ten_million),
            ("ldc_bloom", both, self._sweep("bits", [10, 200], [50]), ten_million),
            ("ldc_requests", (*both, "ldc_release"), self._sweep("requests", [10, 20], [30]), 0),
            (
                "ldc_workloads",
                (*both, "ldc_adaptive", "ldc_release"),
                self._sweep("workload", ["WO", "WH", "RWB"], ["RH"]),
                ten_million,
            ),
            ("ldc_read_only", (*both, "ldc_adaptive"), [{"workload": "RO"}], ten_million),
            (
                "ldc_scans",
                both,
                self._sweep("workload", ["SCN-RWB"], ["SCN-WH", "SCN-RH"]),
                ten_million,
            ),
            (
                "ldc_skew",
                both,
                self._sweep("workload", ["RWB", "RWB-ZIPF1", "RWB-ZIPF5"], ["RWB-ZIPF2"]),
                2 * ten_million,
            ),
            (
                "ldc_mix",
                ("leveldb",),
                self._sweep("workload", ["WO", "RWB", "RO"], []),
                ten_million,
            ),
        ):
            for point, engine in itertools.product(points, engines):
                mix = str(point.get("workload", "RWB")).removeprefix("SCN-").split("-")[0]
                phase = self._ldc_phase(
                    "run",
                    operations or int(point["requests"] * 1_000_000 / self.factor),
                    mixes[mix],
                    int(point.get("fanout", 10)),
                    engine,
                    threshold=int(point.get("threshold", LDC_THRESHOLD)),
                )
                if experiment == "ldc_profile":
                    point = {}
                phases = [phase]
                if experiment == "ldc_read_only":
                    phases.append(self._ldc_phase("again", ten_million, 0, 10, engine))
                yield experiment, point, engine, "pcie_ssd", phases
        for bits in [8, 16, 128] if self.thin else [8, 16, 32, 128]:
            load = self._ldc_phase("load", ten_million, 1, 10, "ldc")
            load["counters"]["filter_bytes_written"] = (
                load["counters"]["table_bytes_written"] * (7500 + 500 * bits) / 2**21
            )
            reads = self._ldc_phase("run", ten_million, 0, 10, "ldc")
            reads["counters"]["block_cache_misses"] = reads["operations"] * (0.8 + 0.4 / bits)
            yield "ldc_filter", {"bits": bits}, "ldc", "pcie_ssd", [load, reads]
        for size in [5, 7, 10] if self.thin else [5, 6, 7, 8, 9, 10]:
            for name, compacted in (("lwc_load", False), ("lwc_compacted", True)):
                phases = [] if compacted else [self._load(size)]
                phases += [self._burst(compacted), self._lookups(size, compacted)]
                yield name, {"size_gb": size}, "leveldb", "hdd_7200", phases
        for size in [5] if self.thin else [5, 10]:
            compressible = [self._load(size, wa=6)]
            yield "lwc_compressible", {"size_gb": size}, "leveldb", "hdd_7200", compressible
        yield from self._lwc_matrix()
        for fanout in [4, 10] if self.thin else [4, 10, 16]:
            for expand in (False, True):
                point = {"fanout": fanout, "expand_inputs": expand}
                yield "lwc_eq1", point, "leveldb", "memory", [self._load(10, fanout)]
        for fanout in [10] if self.thin else [4, 10, 16]:
            load = self._load(10, fanout, wa=4.6)
            yield "lwc_eq1_dtables", {"fanout": fanout}, "lwc", "memory", [load]
        for factor in [4, 16, 64] if self.thin else [1, 4, 16, 64]:
            load = self._load(7.5, wa=7)
            phases = [load, self._settle(load)]
            yield "scale_model", {"factor": factor}, "leveldb", "memory", phases
        load, run = (
            self._ldc_phase(name, operations // self.factor, writes, 10)
            for name, operations, writes in (("load", 4_000_000, 1), ("run", 400_000, 0.5))
        )
        yield "disk_limits", {}, "leveldb", "limited", [load, self._settle(load), run]

    def _lwc_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield the comparison of LWC-tree with others, over devices."""
        four = ("leveldb", "lwc", "ldc", "stepped_merge")
        two = ("leveldb", "lwc_files")
        rocksdb = tuple(engine for engine in LWC_COSTS if engine in ROCKSDB)
        sizes = {"size_gb": [10] if self.thin else [5, 10]}
        values = {"value_bytes": [1024, 16384] if self.thin else [1024, 4096, 16384]}
        for name, engines, device, sweep in (
            ("lwc_hdd", (*four, "leveldb_at_once", "lwc_files"), "hdd_7200", sizes),
            ("lwc_ssd", four, "sata_ssd", sizes),
            ("lwc_smr", (*four, "leveldb_at_once", "lwc_files"), "smr", sizes),
            ("lwc_smr_cache", two, "smr_small_cache", sizes),
            ("lwc_own_bands", two, "smr_own_bands", sizes),
            ("lwc_zoned", two, "zoned_smr", sizes),
            ("lwc_values", ("leveldb", "lwc"), "hdd_7200", values),
            ("lwc_sequential", four, "hdd_7200", sizes),
            ("rocksdb_tables", rocksdb, "sata_ssd", sizes),
            ("lwc_dtables", ("lwc",), "hdd_7200", sizes),
        ):
            ((key, points),) = sweep.items()
            for point, engine in itertools.product(points, engines):
                wa, loads, reads = LWC_COSTS[engine]
                cleaned = LWC_DISKS.get(device, 1)
                load = self._load(point if key == "size_gb" else 5, wa=wa)
                rate = self._around(loads / cleaned)
                load |= {"throughput_ops_s": rate, "duration_s": load["operations"] / rate}
                load["counters"]["cpu_user_us"] = load["duration_s"] * 500_000
                phases = [load, self._settle(load)]
                if name == "lwc_sequential":
                    scan = self._lookups(10, compacted=True) | {"name": "scan"}
                    scan["latency_us"]["scan"] = scan["latency_us"].pop("read")
                    phases.append(scan | {"_means": {}})
                elif name == "lwc_dtables":
                    phases = [load, self._burst(False), self._lookups(point, False)]
                    compacted = [self._burst(True), self._lookups(point, True)]
                    yield f"{name}_compacted", {key: point}, engine, device, compacted
                elif key == "size_gb":
                    read = self._lookups(10, compacted=True)
                    mean = self._around(1e6 / reads)
                    read["latency_us"]["read"] |= {"mean": mean}
                    phases.append(read)
                for phase in phases if device in LWC_DISKS else ():
                    own = (cleaned - 1) * phase["counters"]["device_write_bytes"]
                    phase["counters"]["device_cleaning_write_bytes"] = own
                yield name, {key: point}, engine, device, phases

    def _ycsb_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield YCSB's core workloads on a loaded tree, RocksDB left to the peers."""
        for experiment, device in (("matrix_ssd", "sata_ssd"), ("matrix_hdd", "hdd_7200")):
            for engine in declarations().experiments[experiment].engines:
                if engine in ROCKSDB:
                    continue
                load = self._ldc_phase("load", 10_000_000 // self.factor, 1, 10, engine)
                phases = [load, self._settle(load)]
                for name, writes in zip("abcfde", (0.5, 0.05, 0, 0.5, 0.05, 0.05), strict=True):
                    operations = 2_000_000 // self.factor
                    phase = self._ldc_phase(name, operations, writes, 10, engine)
                    if name == "e":
                        phase["latency_us"]["scan"] = phase["latency_us"].pop("read")
                        phase |= {"_means": {}}
                    phases.append(phase)
                yield experiment, {}, engine, device, phases

    def _queue_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield queues, RocksDB left to the peers."""
        for name in ("queue", "queue_unlimited", "queue_upstream"):
            engines = declarations().experiments[name].engines
            for size, engine in itertools.product((8, 40), engines):
                if engine in ROCKSDB:
                    continue
                load = self._ldc_phase("load", size * 1024, 1, 10, engine)
                run = self._ldc_phase("run", 2**20, 0.5, 10, engine)
                yield name, {"live_mib": size}, engine, "memory", [load, run]

    def _parallel_matrix(
        self,
    ) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield many clients and processors, RocksDB left to the peers."""
        for name in ("clients", "processors"):
            engines = declarations().experiments[name].engines
            for number, engine in itertools.product((1, 4, 12), engines):
                if engine in ROCKSDB:
                    continue
                load = self._ldc_phase("load", 4_000_000 // self.factor, 1, 10, engine)
                phases = [load, self._settle(load)]
                for phase, writes in (("a", 0.5), ("c", 0)):
                    one = self._ldc_phase(phase, 4_000_000 // self.factor, writes, 10, engine)
                    faster = number**0.5
                    one["throughput_ops_s"] *= faster
                    phases.append(one | {"duration_s": one["duration_s"] / faster})
                yield name, {name: number}, engine, "pcie_ssd", phases

    def _time_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield the same in real and in simulated time, RocksDB left to the peers."""
        sizes = [{"value_bytes": size} for size in (256, 1024, 4096)]
        factors = [{"value_bytes": 1024, "factor": factor} for factor in (8, 64)]
        for name, where in itertools.product(TIMES, ("", "_here")):
            device = declarations().experiments[name].device
            points = factors if name == "time_sizes" else sizes if name == "time_memory" else [{}]
            for point, engine in itertools.product(
                points, declarations().experiments[name].engines
            ):
                if engine in ROCKSDB:
                    continue
                operations = 2**24 // point.get("value_bytes", 1024)
                load = self._ldc_phase("load", operations, 1, 10, engine)
                phases = [load, self._settle(load)]
                for phase, writes in (("wo", 1), ("rh", 0.3), ("ro", 0), ("wh", 0.7)):
                    phases.append(self._ldc_phase(phase, operations, writes, 10, engine))
                yield name + where, point, engine, device, phases

    def _qacp_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield RocksDB's experiments."""
        device = "sata_ssd_860"
        both = ("rocksdb_leveled", "rocksdb_universal")
        fill, seek, get = "QACP-FILLRANDOM", "QACP-SEEKRANDOM", "QACP-READRANDOM"
        for name, workloads, key, values in (
            ("qacp_random", [fill], None, ()),
            ("qacp_values", [fill], "value_bytes", (100, 1024)),
            ("qacp_sequential", ["QACP-FILLSEQ"], None, ()),
            ("qacp_range", [seek], None, ()),
            ("qacp_point", [get], None, ()),
            ("qacp_point_behind", [get], None, ()),
            ("qacp_direct", [seek, get], None, ()),
            ("qacp_index", [seek, get], "max_open_files", (20, 50000)),
            ("qacp_prefix", [seek, get], "prefix_extractor", ("nullptr", "fixed:8")),
        ):
            engines = tuple(QACP_COSTS) if name == "qacp_sequential" else both
            swept = [{key: value} for value in values] if key else [{}]
            for workload, value, engine in itertools.product(workloads, swept, engines):
                phases = self._qacp_phases(engine, workload)
                if name == "qacp_point_behind":
                    phases.insert(0, self._qacp_phase(engine, writes=True) | {"name": "load"})
                yield name, {"workload": workload} | value, engine, device, phases

    def _qacp_phases(self, engine: str, workload: str) -> list[dict[str, Any]]:
        writes = "FILL" in workload
        run = self._qacp_phase(engine, writes=writes, ascending="FILLSEQ" in workload)
        if writes:
            return [run, self._settle(run)]
        if "SEEK" in workload:
            run["latency_us"]["scan"] = run["latency_us"].pop("read")
            return [run | {"_means": {}}]
        return [run]

    def _qacp_phase(self, engine: str, *, writes: bool, ascending: bool = False) -> dict[str, Any]:
        random, sequential, compactions, puts, gets, blocks, files, low = QACP_COSTS[engine]
        rate = self._around(puts if writes else gets)
        operations = (20_000_000 if writes else 1_600_000) // self.factor
        phase = self._phase(
            "run",
            operations,
            writes,
            pair="QACP",
            wa=(sequential if ascending else random) if writes else 0,
            throughput=rate,
            latency={"write" if writes else "read": 1e6 / rate},
            stall_us=20000,
            fanout=10,
        )
        phase["counters"]["compaction_count"] = operations * compactions / 1000 * writes
        phase["counters"]["trivial_move_count"] = 12 * ascending
        phase["counters"]["block_read_bytes"] = operations * 4100 * blocks * (not writes)
        return phase | {"_files": files, "_low": low * writes}

    def _pcp_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield PCP's experiments."""
        four = ("leveldb", "scp", "pcp", "pcp_adaptive")
        devices = {"ssd": "sata_ssd", "hdd": "hdd_7200"}
        for name, engines, keys in (
            ("steps", ("scp",), {}),
            ("values", ("scp",), {"value_bytes": [64, 256, 1024]}),
            ("subtasks", ("scp",), {"subtask_kib": [64, 512, 4096]}),
            ("entries", four, {"entries": [20, 50, 80]}),
            ("settings", ("pcp", "pcp_adaptive"), {"subtask_kib": [512], "threads": [1, 2]}),
            ("fixed_subtasks", four[1:], {"subtask_kib": [64, 512, 4096]}),
            ("sizes", ("scp", "pcp"), {"upper_mib": [1, 2, 6, 10]}),
            ("threads", ("scp", "pcp"), {"threads": [1, 2, 8]}),
            ("disks", ("scp", "pcp"), {"disks": [1, 2, 10]}),
            ("ldc", ("ldc", "ldc_pcp"), {"value_bytes": [100, 1024]}),
        ):
            for kind in devices:
                only = {"disks": "hdd", "fixed_subtasks": "ssd", "sizes": "ssd"}
                only |= {"threads": "ssd", "ldc": "ssd"}
                if only.get(name, kind) != kind:
                    continue
                device = devices[kind] + ("_raid0" if name == "disks" else "")
                experiment = f"pcp_{name}_{kind}"
                declared = declarations().experiments[experiment].engines
                for values in itertools.product(*keys.values()):
                    point = dict(zip(keys, values, strict=True))
                    for engine in (name for name in engines if name in declared):
                        phases = [self._pcp_phase(point, engine, device)]
                        yield experiment, point, engine, device, phases
        stock = ("leveldb", "leveldb_checked")
        for engine, size in itertools.product((*stock, "scp", "pcp"), (100, 1024)):
            point = {"value_bytes": size}
            inserts = self._pcp_phase(point, engine, "memory")
            phases = [inserts, self._settle(inserts)]
            yield "pcp_overhead", point, engine, "memory", phases
            yield "pcp_alone_overhead", point, engine, "memory", self._alone(inserts)
        for kind, engine, threads in itertools.product(devices, ("scp", "pcp"), (1, 2)):
            device = devices[kind]
            inserts = self._pcp_phase({"threads": threads}, engine, device)
            alone = self._alone(inserts)
            yield f"pcp_alone_{kind}", {"threads": threads}, engine, device, alone

    def _dlsm_matrix(self) -> Iterator[tuple[str, dict[str, Any], str, str, list[dict[str, Any]]]]:
        """Yield dLSM's experiments, each of which begins with a tree that is there."""
        disks, both = "hdd_15k_raid0", DLSM_TREES[:2]
        for name, workload in (
            ("rangehot", "LATEST-RANGEHOT"),
            ("zipfian", "LATEST-ZIPFIAN"),
            ("uniform", "LATEST-UNIFORM"),
        ):
            point, reads = {"workload": workload}, DLSM_READS[workload]
            for engine in DLSM_TREES:
                seen = reads["two_phase" if engine.startswith("two_phase") else "dlsm"]
                phases = [self._dlsm_reads(phase, engine, seen) for phase in ("warmup", "run")]
                yield f"dlsm_{name}", point, engine, disks, phases
            alone = self._dlsm_reads("run", "two_phase", reads["read_only"], compacting=0)
            yield f"dlsm_{name}_read_only", point, "two_phase", disks, [alone]
        hot = {"workload": "LATEST-RANGEHOT"}
        reads = DLSM_READS["LATEST-RANGEHOT"]
        for engine in both:
            slow = Reads(reads[engine].hit, reads[engine].swing, 10, 200)
            yield "dlsm_open_loop", hot, engine, disks, [self._dlsm_reads("run", engine, slow)]
            hit, rate = (0.6, 900) if engine == "two_phase" else (0.93, 1900)
            paused = Reads(hit, 0.03, 1, rate)
            pause = self._dlsm_reads("run", engine, paused, compacting=0.6)
            yield "dlsm_pause", hot, engine, disks, [pause]
            for factor in (400, 800) if self.thin else (100, 200, 400, 800):
                run = self._dlsm_reads("run", engine, reads[engine])
                yield "dlsm_scales", {"factor": factor}, engine, disks, [run]
            for workload in ("C", "RO"):
                other = self._dlsm_reads("run", engine, Reads(0.3, 0.02, 5, 260))
                yield "dlsm_other", {"workload": workload}, engine, disks, [other]
            seen = Reads(0.8, 0.02, 5, 900)
            for workload in OTHER_READINGS[-1:] if self.thin else OTHER_READINGS:
                other = self._dlsm_reads("run", engine, seen)
                yield "dlsm_readings", {"workload": workload}, engine, disks, [other]
                if engine == "two_phase":
                    other = self._dlsm_reads("run", engine, seen, compacting=0)
                    yield "dlsm_readings_read_only", {"workload": workload}, engine, disks, [other]
            for size in (10,) if self.thin else (5, 10):
                before = self._dlsm_ranges("before", engine, size)
                compact = self._settle(before) | {"name": "compact", "kind": "compact_range"}
                after = self._dlsm_ranges("after", engine, size, faster=2)
                phases = [before, compact, after]
                yield "dlsm_settled_ranges", {"query_mb": size}, engine, disks, phases
        for engine in DLSM_ENGINES:
            if engine == "dlsm_trimmed":
                continue
            uncached = self._dlsm_reads("run", engine, Reads(0.005, 0, 1, 90000), compacting=0)
            yield "dlsm_uncached", {"workload": "RO"}, engine, "memory", [uncached]
        for engine in ("two_phase", "dlsm", "stepped_merge"):
            phases = [self._dlsm_ranges("run", engine, 10)]
            yield "dlsm_ranges", {"query_mb": 10}, engine, disks, phases
        for engine in ("two_phase", "dlsm", "stepped_merge", "leveldb"):
            writes = self._dlsm_writes("run", engine)
            phases = [writes, self._settle(writes)]
            yield "dlsm_writes", {"workload": "WO"}, engine, disks, phases
        for engine in ("two_phase", "leveldb"):
            phases = [self._dlsm_writes("run", engine, gets=4000)]
            yield "dlsm_low_reads", {"workload": "WO"}, engine, disks, phases

    def _dlsm_reads(
        self, name: str, engine: str, reads: Reads, *, compacting: float = 1
    ) -> dict[str, Any]:
        """Read in a closed loop; compactions take a share of the time, and a writer all of it."""
        rate = self._around(reads.rate, 0.3)
        hit = self._around(reads.hit, 0.05) if reads.swing else reads.hit
        operations = max(round(rate * 1500 / self.factor), 100)
        phase = self._phase(
            name,
            operations,
            0,
            pair="DLSM",
            wa=0,
            throughput=rate,
            latency={"read": 1e6 / rate},
            stall_us=20000,
            fanout=10,
        )
        written = 1000 * phase["duration_s"] * PAIR_BYTES["DLSM"] if compacting == 1 else 0
        self._dlsm_account(phase, engine, gets=operations, hit=hit, written=written)
        phase["_cache"] = (hit, reads.swing, reads.waves, compacting)
        if compacting == 1:
            writes = round(1000 * phase["duration_s"])
            phase["beside"] = [self._dlsm_stream("writer", "write", writes, phase["duration_s"])]
        return phase

    def _dlsm_ranges(
        self, name: str, engine: str, megabytes: int, faster: float = 1
    ) -> dict[str, Any]:
        """Scan in a closed loop."""
        tables, rate = DLSM_COSTS[engine][2:4]
        rate = self._around(rate * faster * 10 / megabytes, 0.2)
        scans = max(round(rate * 500 / self.factor), 20)
        phase = self._phase(
            name,
            scans,
            0,
            pair="DLSM",
            wa=0,
            throughput=rate,
            latency={"read": 1e6 / rate},
            stall_us=20000,
            fanout=10,
        )
        phase["latency_us"]["scan"] = phase["latency_us"].pop("read")
        self._dlsm_account(phase, engine, gets=0, hit=0, written=0)
        touched = scans * self._around(tables / faster, 0.05)
        phase["counters"] |= {"scan_count": scans, "scan_tables": touched}
        return phase | {"_means": {}}

    def _dlsm_writes(self, name: str, engine: str, gets: int = 0) -> dict[str, Any]:
        """Update in a closed loop, perhaps with a reader beside."""
        rate = self._around(9000, 0.3)
        operations = 30_000_000 // self.factor // 100
        phase = self._phase(
            name,
            operations,
            1,
            pair="DLSM",
            wa=DLSM_COSTS[engine][4],
            throughput=rate,
            latency={"write": 1e6 / rate},
            stall_us=20000,
            fanout=10,
        )
        written = phase["counters"]["user_bytes_written"]
        self._dlsm_account(phase, engine, gets=gets, hit=0.3, written=written)
        phase["_cache"] = (0.3, 0, 1, 1)
        if gets:
            phase["beside"] = [self._dlsm_stream("reader", "read", gets, phase["duration_s"])]
        return phase

    def _dlsm_stream(
        self, name: str, operation: str, operations: int, duration: float
    ) -> dict[str, Any]:
        latency = self._latency(1e6 * duration / operations, operations, 20000)
        return {
            "name": name,
            "operations": operations,
            "duration_s": duration,
            "throughput_ops_s": operations / duration,
            "latency_us": {operation: latency, "all": latency},
        }

    def _dlsm_account(
        self, phase: dict[str, Any], engine: str, *, gets: int, hit: float, written: float
    ) -> None:
        """Put what the engine counts into a phase, and the shape of its tree."""
        asked, looked_at, _, _, amplification = DLSM_COSTS[engine]
        sizes, merged = DLSM_LEVELS[engine]
        level_1 = 2**30 / self.factor
        tables = written * self._around(amplification, 0.1)
        blocks = gets * self._around(looked_at, 0.01)
        has_buffer = engine.startswith("dlsm")
        lost = {"two_phase": 160, "dlsm": 12}.get(engine, 14)
        phase["counters"] |= {
            "user_bytes_written": written,
            "table_bytes_written": tables,
            "filter_bytes_written": 0.002 * tables,
            "flush_bytes_written": written,
            "compaction_bytes_written": max(tables - written, 0),
            "compaction_bytes_read": max(tables - written, 0),
            "compaction_block_read_bytes": 0.9907 * max(tables - written, 0),
            "bloom_checks": gets * self._around(asked, 0.05),
            "bloom_negatives": gets * (asked - 1) * (0.999 if "table" in engine else 0.96),
            "bloom_false_positives": gets * (asked - 1) * (0.001 if "table" in engine else 0.04),
            "block_cache_hits": blocks * hit,
            "block_cache_misses": blocks * (1 - hit),
            "cache_invalidated_blocks": self._around(lost) * phase["duration_s"] * (written > 0),
            "gets_from_buffer": 0.1 * gets * has_buffer,
            "buffer_swap_count": 2,
        }
        phase["levels"] = [
            {"level": level, "files": max(round(100 * size), 1), "bytes": size * level_1}
            for level, size in sizes.items()
        ]
        tree = sum(level["bytes"] for level in phase["levels"])
        buffer = tree * self._around(BUFFER_SHARE, 0.1) * has_buffer
        phase["space"] |= {"live_bytes": tree + buffer}
        if has_buffer:
            phase["space"] |= {"buffer_bytes": buffer, "buffer_tables": 900}
        phase["turnovers"] = written * (1 + merged[1]) / level_1

    def _dlsm_events(self, path: Path, engine: str, written: float) -> None:
        """Merge what is written into each level in turn, in ten compactions of each."""
        lines = [
            {
                **{"t_us": 1000 * number, "type": "compaction", "reason": "size", "level": level},
                **{"inputs_upper": 1, "inputs_lower": lower, "bytes_read_upper": written / 10},
                "bytes_read_lower": lower * written / 10,
                "bytes_written": (1 + lower) * self._around(written / 10, 0.05),
                "micros": 1000,
            }
            for level, lower in DLSM_LEVELS[engine][1].items()
            for number in range(10)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def _pcp_phase(self, point: dict[str, Any], engine: str, device: str) -> dict[str, Any]:
        """Insert for a while: the steps of compactions in turn, or as their stages overlap."""
        entries = point.get("entries", 50) * 1e6 / self.factor
        pair = 16 + point.get("value_bytes", 100)
        written = entries * 116
        megabytes = written / 2**20 * (1 + 0.6 * math.log2(point.get("entries", 50) / 10))
        kibibytes = point.get("subtask_kib", 512) if engine != "pcp_adaptive" else 512
        disks, threads = point.get("disks", 1), point.get("threads", 1)
        base = device.removesuffix("_raid0")
        read, write = (us * (0.85 + 80 / kibibytes) for us in DEVICE_STEPS[base])
        steps = {name: us * (116 / pair if "sort" in name else 1) for name, us in STEPS.items()}
        steps |= {"compaction_read_us": read, "compaction_write_us": write * 0.95}
        steps["compaction_sync_us"] = write * 0.05
        steps = {name: self._around(us * megabytes, 0.2) for name, us in steps.items()}
        compute = sum(steps[name] for name in STEPS)
        device_us = sum(steps.values()) - compute
        overlapped = max(device_us / disks, compute / min(threads, 2) * (1 + 0.02 * threads))
        number = max(point.get("upper_mib", 4) * 3 * 1024 / kibibytes, 1)
        if engine in ("pcp", "pcp_adaptive", "ldc_pcp"):
            total = (compute + device_us + (number - 1) * overlapped) / number * 1.03
        else:
            total = (compute + device_us) * (0.97 if engine.startswith("leveldb") else 1)
        count = round(megabytes / point.get("upper_mib", 4) / 3)
        operations = round(written / pair)
        throughput = self._around(1e6 * operations / (3 * operations + 0.9 * total), 0.2)
        phase = self._phase(
            "run",
            operations,
            1,
            pair="PCP",
            wa=6,
            throughput=throughput,
            latency={"write": 1e6 / throughput},
            stall_us=1000,
            fanout=10,
        )
        phase["counters"] |= steps | {
            "compaction_bytes_read": megabytes * 2**20,
            "compaction_bytes_written": megabytes * 2**20,
            "compaction_count": count,
            "compaction_us": self._around(total, 0.2),
            "compaction_flush_us": 0.1 * total if engine in ("leveldb", "scp") else 0,
            "compaction_subtasks": round(count * number) if engine in PIPELINES else 0,
            "compaction_readq_us": 0.8 * total if engine in PIPELINES[1:] else 0,
            "compaction_writeq_us": 0.3 * total if engine in PIPELINES[1:] else 0,
        }
        return phase

    def _around(self, value: float, share: float = 1) -> float:
        return float(value * math.exp(self.rng.normal(0, self.noise * share)))

    def _sweep(self, key: str, thin: list[Any], more: list[Any]) -> list[dict[str, Any]]:
        return [{key: value} for value in (thin if self.thin else [*thin, *more])]

    def _ldc_phase(
        self,
        name: str,
        operations: int,
        writes: float,
        fanout: int,
        engine: str = "leveldb",
        threshold: int = LDC_THRESHOLD,
    ) -> dict[str, Any]:
        bytes_in_tree = max(operations * PAIR_BYTES["LDC"] * 0.45, 4 * 2**21 / self.factor)
        sstable = 2**21 / self.factor
        height = math.log(max(bytes_in_tree / sstable, fanout), fanout)
        per_level = 0.16 * (fanout + 6) if engine == "leveldb" else 0.8 * (1 + fanout / threshold)
        wa = self._around(0.6 + per_level * height, 0.1) if writes else 0
        per_write = 4 + 1.9 * wa
        per_read = 9 + 2.0 * height
        throughput = self._around(1e6 / (writes * per_write + (1 - writes) * per_read))
        stall = (900 if engine == "leveldb" else 300) * (fanout + 1) / 11 * 64 / self.factor
        return self._phase(
            name,
            operations,
            writes,
            pair="LDC",
            wa=wa,
            throughput=throughput,
            latency={"read": per_read, "write": per_write},
            stall_us=stall,
            fanout=fanout,
        )

    def _load(self, size: float, fanout: int = 10, wa: float | None = None) -> dict[str, Any]:
        operations = int(size * 250_000 / self.factor)
        amplification = self._around(wa or 5.6 + 1.15 * math.log2(size), 0.1)
        return self._phase(
            "load",
            operations,
            1,
            pair="LWC",
            wa=amplification,
            throughput=self._around(900),
            latency={"write": 1100},
            stall_us=40000,
            fanout=fanout,
        )

    def _alone(self, inserts: dict[str, Any]) -> list[dict[str, Any]]:
        """Take the compactions out of inserts, and let them be one that nothing holds up."""
        counters = {
            name: value for name, value in inserts["counters"].items() if "compaction" in name
        }
        load = inserts | {
            "name": "load",
            "counters": inserts["counters"] | dict.fromkeys(counters, 0.0),
        }
        compaction = self._settle(inserts) | {
            "name": "run",
            "kind": "compact_range",
            "duration_s": counters["compaction_us"] / 1e6,
            "counters": dict.fromkeys(inserts["counters"], 0.0)
            | counters
            | {"compaction_count": 1, "compaction_flush_us": 0.0},
        }
        return [load, compaction]

    def _settle(self, load: dict[str, Any]) -> dict[str, Any]:
        """Wait until the compactions that a load left are done: a twentieth of its tables."""
        counters = dict.fromkeys(load["counters"], 0.0)
        counters["table_bytes_written"] = load["counters"]["table_bytes_written"] / 20
        kept = {key: load[key] for key in ("levels", "space", "_pair", "_stall_us")}
        return kept | {
            "name": "settle",
            "kind": "wait_idle",
            "operations": 0,
            "duration_s": load["duration_s"] / 20,
            "counters": counters,
            "_means": {},
        }

    def _burst(self, compacted: bool) -> dict[str, Any]:
        rate = self._around(4200 if compacted else 520)
        return self._phase(
            "write",
            10_000 // self.factor + 20,
            1,
            pair="LWC",
            wa=0.6,
            throughput=rate,
            latency={"write": 1e6 / rate},
            stall_us=2000,
            fanout=10,
        )

    def _lookups(self, size: float, compacted: bool) -> dict[str, Any]:
        mean = self._around(1e3 * (12.5 if compacted else 22 + size / 2))
        return self._phase(
            "read",
            300,
            0,
            pair="LWC",
            wa=0,
            throughput=1e6 / mean,
            latency={"read": mean},
            stall_us=1000,
            fanout=10,
        )

    def _phase(
        self,
        name: str,
        operations: int,
        writes: float,
        *,
        pair: str,
        wa: float,
        throughput: float,
        latency: dict[str, float],
        stall_us: float,
        fanout: int,
    ) -> dict[str, Any]:
        written = round(operations * writes)
        read = operations - written
        user = written * PAIR_BYTES[pair]
        duration = operations / throughput
        statistics = {
            operation: self._latency(mean, {"read": read, "write": written}[operation], stall_us)
            for operation, mean in latency.items()
            if {"read": read, "write": written}[operation]
        }
        statistics["all"] = self._latency(1e6 / throughput, operations, stall_us)
        flushed = 0.55 * user
        counters = {
            "user_bytes_written": user,
            "user_bytes_read": read * PAIR_BYTES[pair],
            "process_write_bytes": (wa + 1.01) * user,
            "table_bytes_written": max(wa * user, flushed),
            "filter_bytes_written": 0.005 * max(wa * user, flushed),
            "flush_bytes_written": flushed,
            "compaction_bytes_written": max(wa * user - flushed, 0),
            "compaction_bytes_read": max(wa * user - flushed, 0) * 0.94,
            "compaction_count": operations // 900,
            "bloom_checks": read * 3.4,
            "block_cache_hits": read * 0.2,
            "block_cache_misses": read * 0.95,
            "block_read_bytes": read * 4100,
            "stall_us": stall_us * writes,
            "device_write_bytes": (wa + 1) * user,
            "device_read_bytes": wa * user + read * 4100,
        }
        megabytes = counters["compaction_bytes_read"] / 2**20
        device_steps = ("compaction_read_us", "compaction_write_us", "compaction_sync_us")
        times = STEPS | dict.fromkeys(device_steps, 900) | {"compaction_us": 7000}
        for step, us in times.items():
            spread = self.steps_rng.normal(0, self.noise * 0.3)
            counters[step] = us * megabytes * math.exp(spread)
        depth = 3 + (fanout < 6) * 3
        return {
            "name": name,
            "kind": "replay",
            "trace": {
                "file": f"build/traces/{name}{operations}.trace",
                "crc32c": operations,
                "records": operations,
            },
            "operations": operations,
            "duration_s": duration,
            "throughput_ops_s": throughput,
            "latency_us": statistics,
            "counters": counters,
            "levels": [
                {"level": level, "files": 3 * fanout**level, "bytes": 1e5 * fanout**level}
                for level in range(depth)
            ],
            "space": {
                "live_bytes": max(operations * PAIR_BYTES[pair] * 0.45, 2**21),
                "pinned_bytes": 0,
                "pending_bytes": 0,
                "obsolete_bytes": 0,
            },
            "verified": {"reads": read, "found": read, "not_found": 0, "scanned_records": 0},
            "_pair": pair,
            "_stall_us": stall_us,
            "_means": latency,
        }

    def _latency(self, mean: float, count: int, stall_us: float) -> dict[str, float]:
        centre = self._around(mean)
        return {
            "count": count,
            "mean": centre,
            "p50": centre * 0.6,
            "p90": centre * 1.6,
            "p95": centre * 2,
            "p99": centre * 4,
            "p99_9": self._around(min(stall_us, centre * 40), 6),
            "p99_99": self._around(stall_us * 0.8, 4),
            "max": self._around(stall_us * 2.2, 3),
        }

    def _add(
        self,
        experiment: str,
        point: dict[str, Any],
        engine: str,
        device: str,
        phases: list[dict[str, Any]],
        repetition: int,
        profile: bool = False,
    ) -> None:
        if self.experiments and experiment not in self.experiments:
            return
        run = f"{len(self.runs) + 1:016x}"
        factor = point.get("factor", self.factor)
        sized = 1 if experiment.startswith("pcp_") else factor  # sizes are kept
        host = declarations().experiments[experiment].host if self.simulated else REAL
        self.runs.append(
            {
                "experiment": experiment,
                "run": run,
                "engine": engine,
                "built": engine,
                "repetition": repetition,
                "varies": VARIES[min(repetition, len(VARIES)) - 1] if host != REAL else "",
                "point": point,
                "factor": factor,
                "profile": profile,
                "events": engine in KEEP_EVENTS[experiment] and repetition == 1,
            }
        )
        directory = self.raw / run
        directory.mkdir(parents=True)
        if profile and self.skip_profile:
            status = {"status": "skipped", "reason": self.skip_profile}
            (directory / "profile.json").write_text(json.dumps(status))
            return
        for phase in phases:
            phase["_engine"] = engine
        self._timeline(phases).to_csv(directory / "timeline.csv", index=False)
        if engine == "pristine":
            for phase in phases:
                phase["counters"] = {
                    key: value
                    for key, value in phase["counters"].items()
                    if key.startswith(("user", "process", "device"))
                }
        elif phases[0]["_pair"] == "DLSM":
            written = sum(phase["counters"]["user_bytes_written"] for phase in phases)
            self._dlsm_events(directory / "events.jsonl", engine, written)
        else:
            self._events(point, directory / "events.jsonl", sized, engine)
        if profile:
            self._profile(run, directory / "profile.csv", engine)
            (directory / "flame.html").write_text("<title>flame graph</title>")
        public = [{k: v for k, v in p.items() if not k.startswith("_")} for p in phases]
        options = {
            "fanout": 10,
            "max_file_size": 2**21 // sized,
            "write_buffer_size": 2**22 // sized,
            **{key: point[key] for key in ("fanout", "expand_inputs") if key in point},
        }
        if phases[0]["_pair"] == "DLSM":
            options |= {"bloom_bits_per_key": 15, "write_buffer_size": 104857600 // factor}
        record = {
            "schema": 1,
            "run": run,
            "spec": {
                "schema": 1,
                "run": run,
                "engine": {"id": engine, "options": options},
                "device": DEVICES[device]
                | ({"members": point["disks"]} if "disks" in point else {}),
                "scale_factor": sized,
                "seed": 42,
                "compressibility": 0.5,
                "key_order": "hashed",
                "timeline_interval_ms": 100,
                **(
                    {"host": {"id": host, "processors": declarations().hosts[host].processors}}
                    if host != REAL
                    else {}
                ),
                "phases": [
                    {
                        "name": p["name"],
                        "workload": p["_pair"],
                        "beside": [
                            {"name": stream["name"], "workload": "WO"}
                            for stream in p.get("beside", ())
                        ],
                    }
                    for p in phases
                ],
            },
            "host": {
                "cpu": "Intel Xeon Gold 6248",
                "cores": 2,
                "memory_bytes": 25 * 10**9,
                "kernel": "Linux 6.1.0-30-amd64",
                "os": "Debian GNU/Linux 12",
                "filesystem": "tmpfs",
            },
            "started": self.clock.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "wall_s": 1.0,
            "engine": {
                "id": engine,
                "build": {
                    "compiler": "gcc 12.2.0",
                    "flags": "-O2",
                    "tree_hash": TREES[engine] * 4,
                },
            },
            "driver": {"source_hash": "c0ffee1234567890"},
            "phases": public,
            **({"simulating_s": 2.5} if host != REAL else {}),
            "suspect": [],
            "peak_rss_bytes": 10**8,
        }
        (directory / "run.json").write_text(json.dumps(record))
        lasted = sum(phase["duration_s"] for phase in phases)
        self.clock += timedelta(seconds=math.ceil(lasted) + 1)

    def _timeline(self, phases: list[dict[str, Any]]) -> pd.DataFrame:
        frames = []
        for phase in phases:
            count = 60
            if "_cache" in phase:  # a hit ratio swings
                count = int(np.clip(phase["duration_s"] / 0.1, 60, 400))
            frame = pd.DataFrame(0.0, index=range(count), columns=TIMELINE_COLUMNS[2:])
            frame["time_s"] = (np.arange(count) + 1) * phase["duration_s"] / count
            means = phase["_means"]
            blocked = np.arange(count) % 7 == 3
            for operation, mean in means.items():
                swing = self.rng.lognormal(0, 0.25, count)
                if operation == "write":
                    weight = self.rng.uniform(0.02, 0.3, count)
                    swing = 0.4 * swing + blocked * phase["_stall_us"] / mean * weight
                frame[f"mean_{operation}_latency_us"] = mean * swing
                frame[f"{operation}s"] = phase["operations"] / count / len(means)
            frame["operations"] = frame.reads + frame.writes
            frame["live_bytes"] = np.linspace(1, 100, count) * 2**21
            frame["level_files"] = phase.get("_files", "2 10 60")
            if "_low" in phase:
                low = np.arange(count) < phase["_low"] * count
                frame["operations"] *= np.where(low, 0.2, 1)
                frame["pending_bytes"] = frame.live_bytes * np.where(low, 0.9, 0.1)
            if "_cache" in phase:
                self._cached(frame, phase)
            elif phase["_engine"] not in ("leveldb", *DLSM_ENGINES, *ROCKSDB):
                frame["frozen_bytes"] = frame.live_bytes * 0.2
                frame["slice_bytes"] = frame.live_bytes * 0.12
            frames.append(frame.assign(phase=phase["name"])[TIMELINE_COLUMNS[1:]])
        return pd.concat(frames)

    def _cached(self, frame: pd.DataFrame, phase: dict[str, Any]) -> None:
        """Let the hit ratio swing, the buffer grow, and compactions end."""
        hit, swing, waves, compacting = phase["_cache"]
        time = (np.arange(len(frame)) + 0.5) / len(frame)
        ratio = np.clip(hit + swing * np.sin(2 * np.pi * waves * time), 0, 1)
        counters, space = phase["counters"], phase["space"]
        blocks = counters["block_cache_hits"] + counters["block_cache_misses"]
        frame["block_cache_hits"] = blocks / len(frame) * ratio
        frame["block_cache_misses"] = blocks / len(frame) * (1 - ratio)
        frame["buffer_bytes"] = space.get("buffer_bytes", 0) * time / time[-1]
        frame["live_bytes"] = space["live_bytes"] - space.get("buffer_bytes", 0)
        frame["live_bytes"] += frame.buffer_bytes
        frame["device_write_bytes"] = 1e6 * (time < compacting)
        for stream in phase.get("beside", ()):
            operation = "writes" if stream["name"] == "writer" else "reads"
            frame[operation] = stream["operations"] / len(frame)

    def _events(self, point: dict[str, Any], path: Path, factor: int, engine: str) -> None:
        sstable = 2**21 // factor
        fanout = point.get("fanout", 10)
        lines: list[dict[str, Any]] = []
        appends = engine.startswith("lwc")
        stock = engine in ("leveldb", *PIPELINES, *ROCKSDB)
        for number in range(12 if engine in PIPELINES else 240):
            level = int(self.rng.choice([1, 2, 3], p=[0.2, 0.4, 0.4]))
            victims = 1 if not point.get("expand_inputs", True) else 1 + number % 3
            fullness = {1: 0.8, 2: 0.9, 3: 0.55}[level]
            lower = max(0, round(self._around(victims * fanout * fullness, 4))) * (not appends)
            total = (victims + lower) * sstable
            lines.append(
                {
                    "t_us": number * 1000,
                    "type": "compaction" if stock else "merge",
                    "reason": "size" if stock or appends else "slices",
                    "level": level,
                    "inputs_upper": victims,
                    "inputs_lower": lower,
                    "bytes_read_upper": victims * sstable,
                    "bytes_read_lower": lower * sstable,
                    "bytes_written": total,
                    "outputs": victims + lower,
                    "micros": int(total / 300),
                    "read_us": 1,
                    "write_us": 1,
                    "sync_us": 1,
                    "compute_us": 1,
                }
            )
            if engine in PIPELINES:
                threads = int(point.get("threads", 1))
                lines[-1] |= {
                    "subtasks": total // 2**19,
                    "compute_threads": threads,
                    "spans": self._spans(total // 2**19, threads, engine != "scp"),
                }
        for number in range(60):
            lines.append(
                {
                    **{key: value for key, value in lines[0].items() if key != "spans"},
                    "t_us": number * 4000,
                    "type": "flush",
                    "reason": "memtable",
                    "level": 0,
                    "inputs_upper": 0,
                    "inputs_lower": 0,
                    "bytes_read_upper": 0,
                    "bytes_read_lower": 0,
                    "bytes_written": sstable,
                    "micros": 900,
                }
            )
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def _spans(self, subtasks: int, threads: int, overlap: bool) -> list[list[Any]]:
        """Lay out the stages of a compaction: in turn, or each as soon as it can begin."""
        spans: list[list[Any]] = []
        free = {("read", 0): 0, ("write", 0): 0} | {("compute", n): 0 for n in range(threads)}
        for subtask in range(subtasks):
            ready = 0 if overlap or not spans else spans[-1][4]
            for stage, us in (("read", 900), ("compute", 2600), ("write", 1100)):
                thread = subtask % threads if stage == "compute" and overlap else 0
                begin = max(ready, free[stage, thread])
                ready = begin + int(self._around(us, 2))
                free[stage, thread] = ready
                spans.append([subtask, stage, thread, begin, ready])
        return spans

    def _profile(self, run: str, path: Path, engine: str) -> None:
        rows = [
            (run, engine, "WO", module, group, round(SAMPLES * share), share)
            for (module, group), share in PROFILE.items()
        ]
        columns = ["run", "engine", "workload", "module", "function_group", "samples", "share"]
        pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
