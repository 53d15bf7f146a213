"""What was published can be computed again, and whatever differs is told."""

import json

import pandas as pd
import pytest

from recompact import ROOT, pipeline, tables, verify
from recompact.claims import evaluate
from recompact.publish import publish
from synthetic import Campaign

CLAIMS = ROOT / pipeline.CLAIMS
EXPERIMENTS = ("lwc_ssd", "matrix_ssd", "noise", "parity")  # the second with its events


@pytest.fixture
def published(tmp_path):
    """Publish a few runs; give the folder and that of the raw runs."""
    campaign = Campaign(tmp_path / "campaign", experiments=EXPERIMENTS, simulated=False)
    campaign.root.mkdir()
    tables.build(campaign.raw, campaign.write(), tmp_path / "tables")
    folder = tmp_path / "published"
    publish(tmp_path / "tables", folder, with_timeline=["lwc_ssd"])
    evaluate(folder, folder / "claims.csv", claims_path=CLAIMS)
    verify.write_manifest(folder)
    return folder, campaign.raw


def _differences(published) -> list[str]:
    return list(verify.differences(*published, CLAIMS))


def test_nothing_differs_right_after_publication(published):
    assert _differences(published) == []
    (events,) = published[0].glob("*/*/events.csv")
    assert not pd.read_csv(events).empty
    everything, here = verify.runs_here(*published)
    assert everything == here > 0


def test_a_changed_number_is_told_with_both_values(published):
    (path,) = published[0].glob("*/*/runs.csv")
    frame = tables.read_table(path, tables.RUN_COLUMNS)
    frame.loc[0, "value"] += 1
    tables.write(frame, path)
    told = _differences(published)
    assert any("runs.csv: not what SHA256SUMS says" in text for text in told)
    assert sum("runs.csv: published, and not computed" in text for text in told) == 1
    assert sum("runs.csv: computed, and not published" in text for text in told) == 1


def test_a_changed_verdict_is_told_though_its_checksum_was_made_anew(published):
    path = published[0] / "claims.csv"
    claims = pd.read_csv(path)
    claims.loc[0, "verdict"] = "reproduced"
    tables.write(claims, path)
    verify.write_manifest(published[0])
    told = _differences(published)
    assert [text for text in told if "claims.csv: published, and not computed: LDC-C01" in text]


def test_a_lost_and_a_foreign_file_are_told(published):
    (path,) = published[0].glob("*/*/compactions.csv")
    (published[0] / "notes.txt").write_text("mine")
    path.rename(path.with_name("compactions.old"))
    told = list(verify._changed_files(published[0]))
    assert f"{path.relative_to(published[0])}: in SHA256SUMS, but not here" in told
    assert "notes.txt: not in SHA256SUMS" in told


def test_runs_that_are_elsewhere_are_not_missed(published):
    for path in published[1].glob("*/run.json"):
        path.unlink()
    assert _differences(published) == []
    assert verify.runs_here(*published)[1] == 0


def test_the_same_run_made_again_later_is_not_compared(published):
    path = sorted(published[1].glob("*/run.json"))[0]
    record = json.loads(path.read_text())
    record["started"] = "2027-01-01T00:00:00Z"
    record["phases"][0]["duration_s"] *= 2
    path.write_text(json.dumps(record))
    assert _differences(published) == []


def test_a_missing_manifest_says_what_to_do(published):
    (published[0] / verify.MANIFEST).unlink()
    with pytest.raises(tables.TableError, match="SHA256SUMS: no such file; publish again"):
        _differences(published)
