"""Where the time of a run goes, from `perf`.

A profiled run is a run of its own, beside the timed repetitions. Each sample counts for one module
(what its code is for) and for one function group (the rows of LDC Table I).
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go

from recompact.jobs import Run
from recompact.measure import check_existing

EVENT = "cpu-clock"
FREQUENCY_HZ = 997  # a prime, so that sampling does not fall in step with anything periodic
# Copied with each sample and unwound afterwards. Frame pointers do not do: Debian's Snappy and C
# library have none, and what they are called from would be lost.
STACK_BYTES = 4096
SMALLEST_FRAME = 0.001  # share of all samples below which the flame graph leaves a frame out

# The module of a sample is the first rule that matches a frame, looking from the innermost frame
# outwards; so a checksum inside a compaction counts as checksum.
_FILE_CALL = r"vfs_|ksys_(p?write|p?read)|fsync|fdatasync|do_sys_open|unlink|shmem_|ext4_|xfs_"
MODULES: tuple[tuple[str, str], ...] = (
    ("compression", r"snappy::|Snappy_"),
    ("checksum", r"crc32c::"),
    ("bloom", r"BloomFilterPolicy|FilterBlock"),
    ("cache", r"LRUCache|LRUHandle|HandleTable|PageCache"),
    ("memtable", r"MemTable::|SkipList<|Arena::"),
    ("file_system", rf"{_FILE_CALL}|Posix\w+File::|Device\w*File::"),
    ("read_path", r"DBImpl::Get\b|DBImpl::NewIterator|DBIter::|Version::Get\b"),
    ("compaction", r"DoCompactionWork|CompactMemTable|BackgroundCompaction"),
    ("write_path", r"DBImpl::Write\b|DBImpl::MakeRoomForWrite"),
)

# LDC Table I: its rows exclude each other. Its DoWrite is db_bench's loop around DBImpl::Write
# (E13).
FUNCTION_GROUPS: tuple[tuple[str, str, bool], ...] = (
    # name, pattern of any frame, kernel samples only
    ("file_system_kernel", _FILE_CALL, True),
    ("DoCompactionWork", r"DoCompactionWork", False),
    ("DoWrite", r"DBImpl::Write\b", False),
)


@dataclass(frozen=True)
class Sample:
    """One sample: its frames from the innermost outwards, and whether it fell into the kernel."""

    frames: tuple[str, ...]
    kernel: bool


def permitted(within: Sequence[str] = ()) -> str | None:
    """Say why `perf` cannot record here, or behind the words of a container; None if it can."""
    if not within and shutil.which("perf") is None:
        return "perf is not installed (package linux-perf)"
    probe = [*within, "perf", "record", "--quiet", "-e", EVENT, "-o", "/dev/null", "--", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    reason = " ".join(done.stderr.split())
    return f"perf may not record here: {reason[:200]}"


def parse(script: Iterable[str]) -> Iterator[Sample]:
    """Read the samples from the text of `perf script -F ip,sym,dso`."""
    frames: list[str] = []
    kernel = False
    frame = re.compile(r"^\s+[0-9a-f]+ (?P<symbol>.*) \((?P<object>.*)\)$")
    for line in script:
        found = frame.match(line)
        if found:
            if not frames:
                kernel = found["object"].startswith("[kernel")
            frames.append(re.sub(r"\+0x[0-9a-f]+$", "", found["symbol"]))
        elif frames:
            yield Sample(tuple(frames), kernel)
            frames = []
    if frames:
        yield Sample(tuple(frames), kernel)


def module(sample: Sample) -> str:
    """Name the module of a sample."""
    for frame in sample.frames:
        for name, pattern in MODULES:
            if re.search(pattern, frame):
                return name
    return "other"


def function_group(sample: Sample) -> str:
    """Name the row of LDC Table I that a sample belongs to."""
    for name, pattern, kernel_only in FUNCTION_GROUPS:
        if (sample.kernel or not kernel_only) and any(
            re.search(pattern, frame) for frame in sample.frames
        ):
            return name
    return "others"


def record(
    run: Run,
    run_directory: Path,
    measured: Callable[[tuple[str, ...]], None],
    within: Sequence[str] = (),
) -> None:
    """Measure a run under `perf`, and leave profile.csv, flame.html and, last, profile.json.

    Where `perf` is not permitted, profile.json says why and nothing is run.

    Parameters
    ----------
    run : Run
        The run.
    run_directory : Path
        Receives the result.
    measured : callable
        Measures the run with these words before the driver.
    within : sequence of str, optional
        Words of the container in which `perf` finds what it records.
    """
    if check_existing(run_directory, run):
        return
    reason = permitted(within)
    if reason is not None:
        print(f"profile of run {run.id} skipped: {reason}", flush=True)
        run_directory.mkdir(parents=True, exist_ok=True)
        _write_status(run_directory, "skipped", reason)
        return
    data = run_directory.parent.resolve() / f"{run.id}.perf.data"
    perf = (
        "perf",
        "record",
        "--quiet",
        "-e",
        EVENT,
        "-F",
        str(FREQUENCY_HZ),
        "--call-graph",
        f"dwarf,{STACK_BYTES}",
        "-o",
        str(data),
        "--",
    )
    measured(perf)
    script = subprocess.run(
        [*within, "perf", "script", "-i", str(data), "-F", "ip,sym,dso", "--no-inline"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    samples = list(parse(script.stdout.splitlines()))
    data.unlink()
    write_shares(samples, run, run_directory / "profile.csv")
    write_flame_graph(samples, run_directory / "flame.html", title=f"Run {run.id}, {run.engine}")
    _write_status(run_directory, "done", f"{len(samples)} samples at {FREQUENCY_HZ} Hz")


def _write_status(run_directory: Path, status: str, reason: str) -> None:
    content = json.dumps({"status": status, "reason": reason})
    (run_directory / "profile.json").write_text(content + "\n", encoding="utf-8")


def write_shares(samples: list[Sample], run: Run, path: Path) -> None:
    """Write the number and share of samples per module and function group."""
    workload = run.spec["phases"][-1].get("workload", "")
    counts = Counter((module(sample), function_group(sample)) for sample in samples)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["run", "engine", "workload", "module", "function_group", "samples", "share"]
        )
        for (name, group), count in sorted(counts.items()):
            share = round(count / len(samples), 6)
            writer.writerow([run.id, run.engine, workload, name, group, count, share])


def write_flame_graph(samples: list[Sample], path: Path, title: str) -> None:
    """Draw the call stacks as a flame graph (root at the bottom) in one HTML file."""
    counts: Counter[tuple[str, ...]] = Counter()
    for sample in samples:
        stack = tuple(reversed(sample.frames))
        counts.update(stack[:depth] for depth in range(1, len(stack) + 1))
    kept = {stack for stack, n in counts.items() if n >= SMALLEST_FRAME * len(samples)}
    stacks = sorted(kept)
    separator = "\x1f"
    figure = go.Figure(
        go.Icicle(
            ids=["", *(separator.join(stack) for stack in stacks)],
            labels=["all", *(stack[-1] for stack in stacks)],
            parents=[None, *(separator.join(stack[:-1]) for stack in stacks)],
            values=[len(samples), *(counts[stack] for stack in stacks)],
            branchvalues="total",
            tiling={"orientation": "v", "flip": "y"},
        )
    )
    figure.update_layout(title=title, margin={"l": 8, "r": 8, "b": 8})
    figure.write_html(path, include_plotlyjs=True)
