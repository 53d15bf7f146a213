"""Samples are counted for the module and the row of Table I that they belong to."""

import csv
from pathlib import Path

import pytest

from recompact import profile
from recompact.jobs import Run

SCRIPT = """
\t    55d0 snappy::internal::CompressFragment (/build/driver)
\t    55d1 leveldb::TableBuilder::WriteBlock(leveldb::BlockBuilder*) (/build/driver)
\t    55d2 leveldb::DBImpl::DoCompactionWork(leveldb::DBImpl::CompactionState*) (/build/driver)
\t    55d3 leveldb::DBImpl::BGWork(void*) (/build/driver)

\tffffffff8155 shmem_write_begin+0x10 ([kernel.kallsyms])
\tffffffff8156 vfs_write ([kernel.kallsyms])
\t    7f01 __write (/lib/libc.so.6)
\t    55d2 leveldb::DBImpl::DoCompactionWork(leveldb::DBImpl::CompactionState*) (/build/driver)

\t    55e0 leveldb::SkipList<char const*>::FindGreaterOrEqual (/build/driver)
\t    55e1 leveldb::DBImpl::Write(leveldb::WriteOptions const&) (/build/driver)

\tffffffff8255 futex_wait ([kernel.kallsyms])
\t    7f02 pthread_cond_wait (/lib/libc.so.6)
"""


@pytest.fixture
def samples() -> list[profile.Sample]:
    return list(profile.parse(SCRIPT.splitlines()))


def test_samples_are_read_from_the_innermost_frame_outwards(samples: list[profile.Sample]) -> None:
    assert [sample.frames[0] for sample in samples] == [
        "snappy::internal::CompressFragment",
        "shmem_write_begin",
        "leveldb::SkipList<char const*>::FindGreaterOrEqual",
        "futex_wait",
    ]
    assert [sample.kernel for sample in samples] == [False, True, False, True]


def test_each_sample_has_one_module_and_one_row(samples: list[profile.Sample]) -> None:
    assert [profile.module(sample) for sample in samples] == [
        "compression",
        "file_system",
        "memtable",
        "other",
    ]
    assert [profile.function_group(sample) for sample in samples] == [
        "DoCompactionWork",
        "file_system_kernel",
        "DoWrite",
        "others",
    ]


def test_shares_sum_to_one(tmp_path: Path, samples: list[profile.Sample]) -> None:
    run = Run(id="0" * 16, spec={"phases": [{"workload": "WO"}]}, engine="leveldb", trace_ids=())
    profile.write_shares(samples, run, tmp_path / "profile.csv")
    with (tmp_path / "profile.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    assert {row["workload"] for row in rows} == {"WO"}


def test_the_flame_graph_holds_every_frame(tmp_path: Path, samples: list[profile.Sample]) -> None:
    profile.write_flame_graph(samples, tmp_path / "flame.html", title="A run")
    page = (tmp_path / "flame.html").read_text(encoding="utf-8")
    assert all(
        name in page for name in ("DoCompactionWork", "shmem_write_begin", "CompressFragment")
    )
    assert "https://cdn" not in page.split("Plotly.newPlot")[-1]


def test_without_perf_the_run_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = Run(id="0" * 16, spec={"phases": []}, engine="leveldb", trace_ids=(), profile=True)
    profile.record(run, tmp_path / "run", lambda prefix: pytest.fail("it was run"))
    assert "package linux-perf" in capsys.readouterr().out
    assert '"skipped"' in (tmp_path / "run/profile.json").read_text(encoding="utf-8")
