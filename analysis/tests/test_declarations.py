"""Mistakes in a declaration are told by file and key."""

from pathlib import Path

import pytest

from recompact.declarations import Declaration, DeclarationError, load


class _Sizes(Declaration):
    width: int
    names: dict[str, int] = {}


def _write(folder: Path, text: str) -> Path:
    path = folder / "sizes.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_correct_file_is_read(tmp_path: Path) -> None:
    assert load(_write(tmp_path, "width: 3\nnames: {a: 1}\n"), _Sizes) == _Sizes(
        width=3, names={"a": 1}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width: 3\nheight: 4\n", "sizes.yaml: height: .*; remove it"),
        ("names: {}\n", "sizes.yaml: width: Field required"),
        ("width: wide\n", "sizes.yaml: width: .*valid integer"),
        ("width: 3\nnames: {a: x}\n", "sizes.yaml: names.a: .*valid integer"),
        ("width: 3\nwidth: 4\n", "sizes.yaml: not valid YAML: .*'width' is given twice"),
        ("width: [3\n", "sizes.yaml: not valid YAML"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        load(_write(tmp_path, text), _Sizes)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="absent.yaml: no such file"):
        load(tmp_path / "absent.yaml", _Sizes)
