"""`./repro torture`: the correctness bench of engines/torture on the engines of engines.yaml."""

from __future__ import annotations

import csv
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from recompact import build, environment, upstream
from recompact.declarations import Declaration, DeclarationError, load
from recompact.errors import RecompactError
from recompact.experiments import OPTIONS_OF, Declarations, Engine, OptionName, Scalar
from recompact.measure import data_root
from recompact.plan import Sources, digest
from recompact.publish import read_block, write_block

FOLDER = "engines/torture"
OPTION_SETS = f"{FOLDER}/option_sets.yaml"
STOCK_FAILURES = f"{FOLDER}/stock_failures.yaml"
BUGS = f"{FOLDER}/bugs"
BUGS_HEAD = ("| engine | bug | caught by |", "| --- | --- | --- |")
BENCH_KINDS = (".cc", ".h", ".txt", ".yaml")  # files of FOLDER that the bench is made of
README = f"{FOLDER}/README.md"
FAILING_SEEDS = f"{FOLDER}/failing_seeds.csv"
ROUND = "build/torture/round.json"  # what a round that was broken off is done with
COMMON_SET = "small"  # of which databases pass from engine to engine
DEEP_SET = "fan_out_2"  # with more levels than upstream reads
FIRST_SEED = 1
SHORT_SHARE = 0.05  # of the full numbers; planted bugs are tried with it first
SANITIZED_SHARE = 0.02
SANITIZED_STREAM = 2000  # operations; a sanitizer makes each ten times as slow
# A round that takes longer hangs: about ten times what it takes on two cores.
PATIENCE_S = 300
PATIENCE_PER_ROUND_S = 3000
# What the address sanitizer and the undefined behaviour sanitizer find in one build.
SANITIZERS = {
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=all",
    "thread": "-fsanitize=thread",
}
# RocksDB is the system's, and what it promises after damage and power loss is its own.
# So are its MANIFEST and its tables.
FAMILY_TESTS = {
    "leveldb": "*",
    "rocksdb": "*ModelTest.*:KillDeathTest.*:FieldCaseTest.*:FieldCaseDeathTest.NoThread*",
}
# The thread sanitizer does not follow a fork, and a repair has one thread.
SANITIZED_TESTS = {"address": "*", "thread": "-*DeathTest.*:*RepairTest.*"}


class OptionSet(Declaration):
    """Options to try an engine with; `patched` holds what only the patched tree knows."""

    options: dict[OptionName, Scalar]
    patched: dict[OptionName, Scalar] = Field(default={})


class StockFailures(Declaration):
    """The content of stock_failures.yaml: kinds of damage, and why stock gives wrong answers."""

    stock_failures: dict[str, str]


class OptionSets(Declaration):
    """The content of option_sets.yaml."""

    option_sets: dict[str, OptionSet]


def _text(options: dict[OptionName, Scalar]) -> dict[str, str]:
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }


def _options(entry: Engine, chosen: OptionSet) -> dict[OptionName, Scalar]:
    """Give the options of a set that an engine knows."""
    options = chosen.options | (chosen.patched if entry.tree == "patched" else {})
    return {name: value for name, value in options.items() if name in OPTIONS_OF[entry.family]}


def write_engine(root: Path, engine: str, path: Path) -> None:
    """Tell the torture program about an engine.

    Raises
    ------
    DeclarationError
        If the engine or an option set is not declared as it should be.
    """
    engines = Declarations(root).engines
    if engine not in engines:
        raise DeclarationError(
            f"engines/engines.yaml: engines: has no {engine!r}; it has {', '.join(engines)}"
        )
    entry = engines[engine]
    sets = load(root / OPTION_SETS, OptionSets).option_sets
    content = {
        "id": engine,
        "options": _text(entry.options),
        "option_sets": [
            {"name": name, "options": _text(_options(entry, chosen))}
            for name, chosen in sets.items()
        ],
        "kill_points": list(entry.kill_points),
        "stock_failures": list(load(root / STOCK_FAILURES, StockFailures).stock_failures),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """What a round of the bench gave.

    Attributes
    ----------
    failed : tuple of str
        Tests that failed.
    figures : Counter
        Operations, kills, states and so on, by name.
    """

    failed: tuple[str, ...]
    figures: Counter[str]


def sanitizer_settings(sanitizer: str) -> list[str]:
    """Give CMake's settings for a build under a sanitizer."""
    flags = SANITIZERS[sanitizer]
    return [f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_EXE_LINKER_FLAGS={flags}"]


def build_bench(
    root: Path, engine: str, folder: Path, tree: Path | None = None, sanitizer: str | None = None
) -> Path:
    """Build the bench for an engine, with asserts, in `folder`; return the program.

    Parameters
    ----------
    root : Path
        The checkout.
    engine : str
        Engine of engines.yaml.
    folder : Path
        Build directory.
    tree : Path, optional
        LevelDB tree; that of the engine by default.
    sanitizer : {'address', 'thread'}, optional
        Sanitizers to build with.
    """
    write_engine(root, engine, folder / "engine.json")
    tree = tree or upstream.tree_for_tests(root, Declarations(root).engines[engine].tree)
    settings = ["-DCMAKE_BUILD_TYPE=Checked"]
    if sanitizer is not None:
        settings += sanitizer_settings(sanitizer)
    build.configure(root, engine, tree, folder, *settings, project=FOLDER)
    build.compile_targets(folder, "torture")
    return folder / "torture"


def play(
    program: Path, seed: int, share: float, *words: str, tests: str = "*", quiet: bool = False
) -> Outcome:
    """Run the bench once, its tests divided over all cores."""
    cores = os.cpu_count() or 1
    folder = program.parent
    shards = []
    for shard in range(cores):
        command = [
            str(program),
            f"--engine={folder / 'engine.json'}",
            f"--seed={seed}",
            f"--share={share}",
            f"--scratch={data_root()}",
            f"--summary={folder / f'figures.{shard}.json'}",
            "--gtest_brief=1",
            f"--gtest_filter={tests}",
            f"--gtest_output=json:{folder / f'tests.{shard}.json'}",
            *words,
        ]
        shards.append(
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if quiet else None,
                stderr=subprocess.DEVNULL if quiet else None,
                env=environment.kept()
                | {"GTEST_TOTAL_SHARDS": str(cores), "GTEST_SHARD_INDEX": str(shard)},
            )
        )
    failed: list[str] = []
    figures: Counter[str] = Counter()
    patience_s = PATIENCE_S + share * PATIENCE_PER_ROUND_S
    end = time.monotonic() + patience_s
    for shard, process in enumerate(shards):
        try:
            status = process.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            failed.append(f"nothing came back within {patience_s:.0f} s")
            continue
        tests_path = folder / f"tests.{shard}.json"
        named = list(_failed_tests(tests_path)) if tests_path.exists() else []
        if status != 0 and not named:
            named = [f"the bench died with status {status}"]
        failed += named
        figures_path = folder / f"figures.{shard}.json"
        if figures_path.exists():
            figures.update(json.loads(figures_path.read_text(encoding="utf-8")) or {})
        tests_path.unlink(missing_ok=True)
        figures_path.unlink(missing_ok=True)
    return Outcome(tuple(failed), figures)


def _failed_tests(path: Path) -> Iterator[str]:
    for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            if test.get("failures"):
                yield f"{suite['name']}.{test['name']}"


def failing_seeds(root: Path, engine: str) -> list[int]:
    """List the seeds with which an engine failed before."""
    path = root / FAILING_SEEDS
    with path.open(newline="", encoding="utf-8") as file:
        return [int(row["seed"]) for row in csv.DictReader(file) if row["engine"] == engine]


def _keep_seed(root: Path, engine: str, seed: int) -> None:
    if seed in failing_seeds(root, engine):
        return
    with (root / FAILING_SEEDS).open("a", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow([engine, seed])


def torture(root: Path, engine: str, seed: int, minutes: float) -> Counter[str] | None:
    """Torture an engine for some minutes, at least one full round.

    A seed that fails is kept in failing_seeds.csv, which the short form replays.

    Returns
    -------
    Counter or None
        Operations, kills and so on; None if a test failed.
    """
    program = build_bench(root, engine, root / "build/torture" / engine)
    tests = FAMILY_TESTS[Declarations(root).engines[engine].family]
    start = time.monotonic()
    figures: Counter[str] = Counter()
    while True:
        outcome = play(program, seed, 1, tests=tests)
        figures.update(outcome.figures)
        if outcome.failed:
            _keep_seed(root, engine, seed)
            print(f"{engine}: seed {seed} failed: {', '.join(outcome.failed)}")
            return None
        seed += 1000  # a round uses the seeds that follow its own
        if time.monotonic() >= start + 60 * minutes:
            seconds = time.monotonic() - start
            print(f"{engine}: {_listing(figures)}, {seconds:.0f} seconds", flush=True)
            return figures


def _listing(figures: Counter[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in sorted(figures.items()))


def torture_all(root: Path, engines: Sequence[str], seed: int, minutes: float) -> bool:
    """Torture engines in turn, then try their databases on each other; say whether all passed.

    A round of several engines takes two hours: one that was broken off goes on with the engines
    that it is not done with, unless what they are tested with has changed. The figures go into
    engines/torture/README.md when every engine was asked for and passed.
    """
    path = root / ROUND
    done = json.loads(path.read_text("utf-8")) if len(engines) > 1 and path.exists() else {}
    figures = {}
    for engine in engines:
        tested = _what_is_tested(root, engine, seed, minutes)
        if done.get(engine, {}).get("tested") == tested:
            print(f"{engine}: passed before this round was broken off", flush=True)
            figures[engine] = Counter(done[engine]["figures"])
            continue
        of_engine = torture(root, engine, seed, minutes)
        if of_engine is None:
            return False
        figures[engine] = of_engine
        if len(engines) > 1:
            done[engine] = {"tested": tested, "figures": of_engine}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    if not foreign_databases(root, engines):
        return False
    if len(engines) > 1:
        path.unlink()
    if list(engines) == list(Declarations(root).engines):
        names = sorted(set().union(*figures.values()))
        lines = [f"| | {' | '.join(figures)} |", "| --- |" + " --- |" * len(figures)]
        for name in names:
            cells = " | ".join(f"{of_engine[name]:,}" for of_engine in figures.values())
            lines.append(f"| {name.replace('_', ' ')} | {cells} |")
        write_block(root / README, "figures", lines)
    return True


def _what_is_tested(root: Path, engine: str, seed: int, minutes: float) -> str:
    """Name an engine's sources, the bench, and how much of it is run."""
    bench = sorted(path for path in (root / FOLDER).iterdir() if path.is_file())
    texts = [(path.name, path.read_text("utf-8")) for path in bench if path.suffix in BENCH_KINDS]
    tree = Sources(root).tree(Declarations(root), engine)
    return digest([tree, texts, seed, minutes])


def short(root: Path, engine: str) -> bool:
    """Run the short form on an engine: the first seed and all that failed before."""
    program = build_bench(root, engine, root / "build/torture" / engine)
    tests = FAMILY_TESTS[Declarations(root).engines[engine].family]
    for seed in (FIRST_SEED, *failing_seeds(root, engine)):
        outcome = play(program, seed, SHORT_SHARE, tests=tests)
        print(f"{engine}: " + _listing(outcome.figures))
        if outcome.failed:
            print(f"{engine}: seed {seed} failed: {', '.join(outcome.failed)}")
            return False
    return True


def sanitized(root: Path, engine: str) -> bool:
    """Run a part of the bench under each sanitizer; a report fails the test that it comes in."""
    passed = True
    for sanitizer, tests in SANITIZED_TESTS.items():
        folder = root / f"build/torture/{engine}-{sanitizer}"
        program = build_bench(root, engine, folder, sanitizer=sanitizer)
        outcome = play(
            program,
            FIRST_SEED,
            SANITIZED_SHARE,
            f"--stream={SANITIZED_STREAM}",
            tests=tests,
        )
        if outcome.failed:
            print(f"{engine}, {sanitizer} sanitizer: {', '.join(outcome.failed)}")
            passed = False
    return passed


def _ask(program: Path, *words: str) -> dict[str, str]:
    command = [str(program), f"--engine={program.parent / 'engine.json'}", *words]
    done = subprocess.run(
        command, env=environment.kept(), capture_output=True, text=True, check=True
    )
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def foreign_databases(root: Path, engines: Sequence[str] = ()) -> bool:
    """Let every engine open the databases of every other; say whether each did what it should.

    Engines are those of LevelDB's family: no other claims to know its files.

    A database of the same format opens and holds what was written; one of another format is
    refused with `InvalidArgument` and is unhurt.

    Parameters
    ----------
    root : Path
        The checkout.
    engines : sequence of str
        Only pairs with one of these; all by default.
    """
    entries = Declarations(root).engines
    names = [name for name, entry in entries.items() if entry.family == "leveldb"]
    programs = {name: build_bench(root, name, root / "build/torture" / name) for name in names}
    passed = True
    with tempfile.TemporaryDirectory(dir=data_root(), prefix="foreign-") as folder:
        database = f"{folder}/database"

        def write(engine: str, option_set: str) -> str:
            shutil.rmtree(database, ignore_errors=True)
            words = (f"--write={database}", f"--option_set={option_set}")
            return _ask(programs[engine], *words)["format"]

        def opened(engine: str, option_set: str) -> dict[str, str]:
            words = (f"--open={database}", f"--option_set={option_set}")
            return _ask(programs[engine], *words)

        formats = {name: write(name, COMMON_SET) for name in names}
        for writer, option_set in itertools.product(names, (COMMON_SET, DEEP_SET)):
            written = write(writer, option_set)
            for reader in names:
                if engines and not {writer, reader} & set(engines):
                    continue
                expected = "right" if written == formats[reader] else "invalid_argument"
                answer = opened(reader, COMMON_SET)
                if answer["outcome"] == expected:
                    answer = opened(writer, option_set)  # that it is unhurt
                    expected = "right"
                if answer["outcome"] != expected:
                    passed = False
                    print(
                        f"{reader} on a database of {writer} ({option_set}, format {written!r}): "
                        f"{answer['outcome']} instead of {expected}: {answer['message']}"
                    )
    return passed


def _bug(patch: Path) -> tuple[str, bool]:
    """Say which engine a planted bug is for, and whether it is in LevelDB's code or in ours."""
    text = patch.read_text(encoding="utf-8")
    return patch.parent.name, "\n+++ b/engines/" not in text


def planted_bugs(root: Path, only: str | None = None) -> bool:
    """Plant each bug of bugs/<engine>/ in turn; say whether every one was caught, and by what.

    Bugs are planted into copies of LevelDB's patched tree and of our sources. One build per
    engine serves all of its bugs, so that each costs the compiling of a few files. What caught
    them goes into the table of the README; an engine with a bug that was missed keeps its rows.

    Parameters
    ----------
    root : Path
        The checkout.
    only : str, optional
        The engine whose bugs are planted; all engines by default.

    Raises
    ------
    RecompactError
        If the engine has no bugs.
    """
    bugs = sorted((root / BUGS).glob(f"{only or '*'}/*.patch"))
    if not bugs:
        raise RecompactError(f"{root / BUGS}: has no bugs for an engine {only!r}")
    folder = root / "build/torture/bugs"
    copy, tree = folder / "checkout", folder / "tree"
    for path in (copy, tree):
        shutil.rmtree(path, ignore_errors=True)
    for part in ("engines", "workloads"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("target"))
    shutil.copytree(upstream.tree_for_tests(root, "patched"), tree)
    for patch in bugs:  # all, before the first long build
        upstream.apply(patch, tree if _bug(patch)[1] else copy, "--dry-run")
    missed = set()
    rows = defaultdict(list)
    for row in read_block(root / README, "bugs")[len(BUGS_HEAD) :]:
        rows[row.split("|")[1].strip()].append(row)
    caught_by = defaultdict(list)
    for patch in bugs:
        engine, in_leveldb = _bug(patch)
        place = tree if in_leveldb else copy
        upstream.apply(patch, place)
        try:
            program = build_bench(copy, engine, folder / engine, tree)
            for share in (SHORT_SHARE, 1):  # a whole round, if a part of one misses it
                outcome = play(program, FIRST_SEED, share, "--shrink_seconds=0", quiet=True)
                if outcome.failed:
                    break
        finally:
            upstream.apply(patch, place, "--reverse")
        caught = ", ".join(
            sorted({name.split("/")[-2] if "/" in name else name for name in outcome.failed})
        )
        print(f"{engine:8} {patch.stem:30} {caught or 'NOT CAUGHT'}", flush=True)
        what = patch.read_text(encoding="utf-8").splitlines()[0]
        caught_by[engine].append(f"| {engine} | {what} | {caught} |")
        if not outcome.failed:
            missed.add(engine)
    rows.update({engine: found for engine, found in caught_by.items() if engine not in missed})
    write_block(
        root / README, "bugs", [*BUGS_HEAD, *itertools.chain(*(rows[key] for key in sorted(rows)))]
    )
    return not missed
