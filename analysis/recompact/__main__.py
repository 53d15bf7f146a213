"""The command line behind ./repro."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

from recompact import ROOT, build, command_line, pipeline, upstream
from recompact.command_line import SCALES, WordsError
from recompact.errors import RecompactError
from recompact.figures.declarations import load_figures
from recompact.measure import DATA_ROOT

WORDS_ONLY = "--words-only"  # before a command: read it, and what it names, and stop

SNAKEMAKE = (sys.executable, "-m", "snakemake")
# Named by the caller, where the caller is.
NAMED_PATHS = (DATA_ROOT, upstream.NAMED_TARBALL)
GENERATED = (
    "build",
    "paper_figures/rendered",
    *(f"results/{name}" for name in (*SCALES, "raw")),
    "workloads/ycsb/target",
    ".snakemake",
    ".cache",
)


def _settings(words: argparse.Namespace) -> dict[str, str]:
    """Give the settings of a profile that a command names itself."""
    return {name: value for name in ("runtime", "disk") if (value := getattr(words, name))}


def _snakemake(scale: str, words: argparse.Namespace) -> int:
    """Run the pipeline at a scale in place of this process."""
    from recompact.claims.declarations import check_experiments, load_claims

    # A wrong declaration, or another pipeline, is told before Snakemake starts.
    settings = _settings(words)
    pipeline.select(scale, words.panels, pipeline.host(settings))
    check_experiments(load_claims(ROOT / pipeline.CLAIMS), pipeline.declarations().experiments)
    pipeline.lock().close()
    command = [*SNAKEMAKE, "--profile", f"profiles/{scale}", *words.snakemake, "--config"]
    config = {"scale": scale, "panels": words.panels, **settings}
    command += [f"{name}={value}" for name, value in config.items()]
    sys.stdout.flush()
    os.execv(sys.executable, command)


def _clean() -> int:
    for name in GENERATED:
        shutil.rmtree(ROOT / name, ignore_errors=True)
        print(f"removed {name}")
    print("kept results/published and .venv")
    return 0


def _made(*files: str) -> None:
    """Have Snakemake make files."""
    words = [*SNAKEMAKE, "--profile", "profiles/smoke", *files]
    subprocess.run(words, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


def _patches(act: str, folder: Path) -> int:
    if act == "checkout":
        upstream.checkout(ROOT, upstream.fetched(ROOT), folder)
        print(f"{folder}: the release with one commit per patch; amend them, then export")
    else:
        upstream.export(folder, ROOT / "engines/patches")
        print("wrote engines/patches")
    return 0


def _publish(words: argparse.Namespace) -> int:
    from recompact import evaluate

    evaluate.publish(words.scale, pipeline.host(_settings(words)))
    evaluate.published_figures()
    evaluate.note_published()
    return 0


def _figures(png: bool) -> int:
    from recompact import evaluate

    evaluate.published_figures(png=png)
    return 0


def _plan(words: argparse.Namespace) -> int:
    from recompact import schedule
    from recompact.claims.declarations import load_claims
    from recompact.evaluate import PUBLISHED

    inventory = {schedule.EMULATED_GROUP: ["this host"]}
    if words.hosts is not None:
        inventory = schedule.read_inventory(words.hosts)
    budget_s = None if words.budget is None else _seconds(words.budget)
    found = schedule.schedule(
        pipeline.declarations(),
        words.scale,
        inventory,
        load_claims(ROOT / pipeline.CLAIMS).claims,
        schedule.Durations.published(ROOT / PUBLISHED),
        budget_s,
        always=pipeline.NOISE_EXPERIMENTS,
    )
    print(schedule.text(found))
    return 0


def _seconds(time: str) -> float:
    from recompact import schedule

    return schedule.parse_budget(time)


def _must_be_here(*engines: str) -> None:
    absent = build.unavailable(pipeline.declarations())
    for engine in engines:
        if engine in absent:
            raise RecompactError(f"engine {engine} cannot be built here: {absent[engine]}")


def _torture(words: argparse.Namespace) -> int:
    from recompact import torture

    if words.bugs:
        passed = torture.planted_bugs(ROOT, words.engine)
    else:
        absent = build.unavailable(pipeline.declarations())
        engines = [name for name in pipeline.declarations().engines if name not in absent]
        if words.engine:
            _must_be_here(words.engine)
            engines = [words.engine]
        elif absent:
            print(f"left out: {', '.join(absent)}: {'; '.join(set(absent.values()))}")
        passed = torture.torture_all(ROOT, engines, words.seed, words.minutes)
    return 0 if passed else 1


def _calibrate(words: argparse.Namespace) -> int:
    from recompact import calibrate

    _must_be_here(words.engine)
    calibrate.calibrate(ROOT, words.engine)
    return 0


def _check(words: argparse.Namespace) -> None:
    """Look up what the words name in our files, before anything is made for it."""
    if words.command in SCALES and words.panels != "all":
        load_figures(ROOT / pipeline.FIGURES).chosen(words.panels.split(","))
    if words.command == "test" and words.checks:
        from recompact import checks

        checks.chosen(ROOT, words.checks)
    if words.command in ("torture", "calibrate") and words.engine:
        pipeline.tree_of(words.engine)


def main(arguments: list[str] | None = None) -> int:
    """Carry out one command; return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    for name in NAMED_PATHS:
        if name in os.environ:
            os.environ[name] = os.path.abspath(os.environ[name])  # noqa: PTH100  # not of a link
    try:
        words = command_line.read(given[given[:1] == [WORDS_ONLY] :])
        os.chdir(ROOT)
        _check(words)
        if given[0] == WORDS_ONLY:
            return 0
        match words.command:
            case "clean":
                return _clean()
            case "test":
                from recompact import checks

                within_s = math.inf if words.within is None else _seconds(words.within)
                return checks.run(ROOT, words.checks, words.keep, within_s)
            case "figures":
                return _figures(words.png)
            case "publish":
                return _publish(words)
            case "bench":
                from recompact import bench

                if words.subject == "driver":
                    _made("build/trees/pristine.unpacked")
                    bench.bench_driver(ROOT)
                else:
                    engines = ("rocksdb_leveled", "rocksdb_universal")
                    _must_be_here(*engines)
                    _made(*(f"build/engines/{name}/driver/recompact_driver" for name in engines))
                    bench.bench_rocksdb(ROOT)
                return 0
            case "plan":
                return _plan(words)
            case "pdf":
                from recompact import evaluate

                evaluate.documents()
                return 0
            case "verify":
                from recompact import evaluate

                return evaluate.verify()
            case "patches":
                return _patches(words.act, words.folder)
            case "calibrate":
                return _calibrate(words)
            case "torture":
                return _torture(words)
            case scale:
                return _snakemake(scale, words)
    except WordsError as error:
        print(f"repro: {error}", file=sys.stderr)
        return 2
    except RecompactError as error:
        print(f"repro: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
