"""The steps that Snakemake's rules call.

Each step imports what it needs by itself: most are runs, which need little of it, and there are
hundreds of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from recompact import ROOT, jobs
from recompact.errors import RecompactError

Step = Callable[[argparse.Namespace], None]


def _fetch(words: argparse.Namespace) -> None:
    from recompact import upstream

    upstream.fetch(ROOT, Path(words.out))


def _unpack(words: argparse.Namespace) -> None:
    from recompact import upstream

    patched = words.tree == "patched"
    upstream.unpack(ROOT, Path(words.tarball), Path(words.out), patched=patched)


def _build(words: argparse.Namespace) -> None:
    from recompact import build, pipeline

    tree = ROOT / "build/trees" / pipeline.tree_of(words.engine)
    build.build_engine(ROOT, words.engine, tree, ROOT / "build/engines" / words.engine)


def _build_image(words: argparse.Namespace) -> None:
    from recompact import runtimes

    out = Path(words.out)
    runtimes.build_image(words.runtime, ROOT, words.tag, "engines", out.with_suffix(".log"))
    out.write_text(words.tag + "\n", encoding="utf-8")


def _build_trace_writer(_: argparse.Namespace) -> None:
    from recompact import build

    build.build_trace_writer(ROOT)


def _share_classes(words: argparse.Namespace) -> None:
    from recompact import traces

    traces.share_classes(Path(words.jar))


def _write_trace(words: argparse.Namespace) -> None:
    from recompact import traces

    traces.write(Path(words.jar), jobs.read_trace(ROOT, words.trace), Path(words.out))


def _measure(words: argparse.Namespace) -> None:
    from recompact import measure

    run = jobs.read_run(ROOT, words.run)
    driver, raw = Path(words.driver), Path(words.raw)
    run_directory = raw / run.id

    def measured(prefix: tuple[str, ...] = ()) -> None:
        database = ROOT / "build/databases" / run.id
        measure.measure(run, ROOT, driver, run_directory, database, prefix)

    if run.profile:
        from recompact import profile, runtimes

        within = runtimes.words(run, driver, ROOT, measure.data_root(), raw.resolve())
        profile.record(run, run_directory, measured, within)
    else:
        measured()


def _tables(words: argparse.Namespace) -> None:
    from recompact import evaluate

    evaluate.tables(Path(words.plan), Path(words.out))


def _claims(words: argparse.Namespace) -> None:
    from recompact import evaluate

    evaluate.claims(Path(words.tables), Path(words.out))


def _figures(words: argparse.Namespace) -> None:
    from recompact import evaluate

    evaluate.figures(Path(words.tables), words.figures.split(","), Path(words.out))


def _report(words: argparse.Namespace) -> None:
    from recompact import evaluate

    evaluate.report(Path(words.tables), Path(words.rendered), Path(words.out))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="step", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)

    def add(name: str, step: Step, *words: str) -> None:
        arguments = steps.add_parser(name)
        arguments.set_defaults(step=step)
        for word in words:
            arguments.add_argument(word, required=True)

    add("fetch", _fetch, "--out")
    add("unpack", _unpack, "--tarball", "--tree", "--out")
    add("build", _build, "--engine")
    add("image", _build_image, "--runtime", "--tag", "--out")
    add("trace-writer", _build_trace_writer)
    add("share-classes", _share_classes, "--jar")
    add("trace", _write_trace, "--trace", "--jar", "--out")
    add("run", _measure, "--run", "--driver", "--raw")
    add("tables", _tables, "--plan", "--out")
    add("claims", _claims, "--tables", "--out")
    add("figures", _figures, "--tables", "--figures", "--out")
    add("report", _report, "--tables", "--rendered", "--out")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Carry out one step; return its exit status."""
    words = _parser().parse_args(arguments)
    try:
        words.step(words)
    except RecompactError as error:
        print(f"step: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
