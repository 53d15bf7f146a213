"""What the correctness bench is told, and what it remembers."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import checkout
from recompact import ROOT, torture, upstream
from recompact.declarations import DeclarationError
from recompact.experiments import Declarations


def test_every_engine_gets_the_option_sets_that_it_knows(tmp_path: Path) -> None:
    told = {}
    for engine in Declarations(ROOT).engines:
        torture.write_engine(ROOT, engine, tmp_path / f"{engine}.json")
        told[engine] = json.loads((tmp_path / f"{engine}.json").read_text(encoding="utf-8"))
        assert len(told[engine]["option_sets"]) >= 20
        assert told[engine]["stock_failures"]
    sets = {name: {s["name"]: s["options"] for s in t["option_sets"]} for name, t in told.items()}
    assert sets["pristine"]["fan_out_2"] == {"write_buffer_size": "65536"}
    assert sets["leveldb"]["fan_out_2"]["fanout"] == "2"
    assert sets["leveldb"]["tracked_obsolete_files"]["track_obsolete_files"] == "true"


def test_an_unknown_engine_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"engines.yaml: engines: has no 'rocksbd'"):
        torture.write_engine(ROOT, "rocksbd", tmp_path / "engine.json")


def test_an_unknown_option_is_told_by_file_and_key(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path / "checkout")
    path = root / torture.OPTION_SETS
    checkout.replace(path, "{write_buffer_size: 65536, block_size: 1024}", "{buffer: 65536}")
    with pytest.raises(DeclarationError, match=r"option_sets.yaml: option_sets.small.options"):
        torture.write_engine(root, "leveldb", tmp_path / "engine.json")


def test_a_failing_seed_is_kept_once(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path / "checkout")
    for seed in (7, 8, 7):
        torture._keep_seed(root, "leveldb", seed)
    torture._keep_seed(root, "pristine", 9)
    assert torture.failing_seeds(root, "leveldb") == [7, 8]


def test_a_round_that_was_broken_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = checkout.copy(tmp_path)
    tortured: list[str] = []
    fails = {"pcp"}

    def play(_root: Path, engine: str, *_: object) -> Counter[str] | None:
        tortured.append(engine)
        return None if engine in fails else Counter({"kills": len(engine)})

    monkeypatch.setattr(torture, "torture", play)
    monkeypatch.setattr(torture, "foreign_databases", lambda *_: True)
    engines = ["leveldb", "ldc", "pcp"]
    assert not torture.torture_all(root, engines, seed=1, minutes=0)
    fails.clear()
    assert torture.torture_all(root, engines, seed=1, minutes=0)
    assert tortured == ["leveldb", "ldc", "pcp", "pcp"]
    # A whole round begins anew; so does one whose bench has changed since, and one engine alone.
    fails.add("pcp")
    assert not torture.torture_all(root, engines, seed=1, minutes=0)
    assert tortured[4:] == engines
    (root / torture.FOLDER / "another_test.cc").write_text("// another", encoding="utf-8")
    assert not torture.torture_all(root, engines, seed=1, minutes=0)
    assert tortured[7:] == engines
    assert torture.torture_all(root, ["ldc"], seed=1, minutes=0)
    assert tortured[10:] == ["ldc"]


def test_every_planted_bug_says_what_it_is() -> None:
    bugs = sorted((ROOT / torture.BUGS).glob("*/*.patch"))
    assert len(bugs) >= 12
    for bug in bugs:
        first, second = bug.read_text(encoding="utf-8").splitlines()[:2]
        assert first.endswith(".") and not second


def test_every_planted_bug_applies_exactly_and_can_be_taken_out(tmp_path: Path) -> None:
    tree = upstream.tree_for_tests(ROOT, "patched")
    for bug in sorted((ROOT / torture.BUGS).glob("*/*.patch")):
        source = tree if torture._bug(bug)[1] else ROOT
        names = re.findall(r"^\+\+\+ b/(\S+)", bug.read_text(encoding="utf-8"), re.MULTILINE)
        copy = tmp_path / bug.stem
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, copy / name)
        upstream.apply(bug, copy)
        assert any((copy / name).read_bytes() != (source / name).read_bytes() for name in names)
        upstream.apply(bug, copy, "--reverse")
        assert all((copy / name).read_bytes() == (source / name).read_bytes() for name in names), (
            bug
        )
