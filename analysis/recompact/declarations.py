"""Reading the declared YAML files, with every mistake named by file and key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from recompact import metrics
from recompact.errors import RecompactError

EXPERIMENTS = "workloads/experiments.yaml"

ModelT = TypeVar("ModelT", bound=BaseModel)
MetricName = Annotated[str, AfterValidator(metrics.known)]  # a mistyped one is told


class DeclarationError(RecompactError):
    """A declaration is wrong; the message names the file, the key and what to do."""


class Declaration(BaseModel):
    """Base of every declared entry: unknown keys are errors, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def check_declared(file: str, used: Iterable[tuple[str, str]], declared: Collection[str]) -> None:
    """Check that the experiments that entries of a file use are declared.

    Parameters
    ----------
    file : str
        The file's name.
    used : iterable of (str, str)
        Entry and experiment.
    declared : collection of str
        The experiments that there are.

    Raises
    ------
    DeclarationError
        If one is not; names the entry and the experiment.
    """
    for entry, experiment in used:
        if experiment not in declared:
            raise DeclarationError(
                f"{file}: {entry}: experiment {experiment} does not exist; "
                f"declare it in {EXPERIMENTS} or correct its name"
            )


class _UniqueKeyLoader(yaml.CSafeLoader):
    """YAML loader that refuses a key given twice instead of keeping the last."""

    def get_single_node(self) -> yaml.Node | None:
        """Compose the document as it is written, before anything is merged into it."""
        document: yaml.Node | None = super().get_single_node()
        nodes = [document]
        checked = set()
        while nodes:
            node = nodes.pop()
            if not isinstance(node, yaml.CollectionNode) or id(node) in checked:
                continue
            checked.add(id(node))
            if isinstance(node, yaml.MappingNode):
                _check_keys(node)
                nodes += [value for _, value in node.value]
            else:
                nodes += node.value
        return document


def _check_keys(mapping: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in mapping.value:
        if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
            line = key.start_mark.line + 1
            raise yaml.composer.ComposerError(
                None, None, f"key {key.value!r} is given twice (line {line})", key.start_mark
            )
        seen.add(str(key.value))


def load(path: Path, model: type[ModelT]) -> ModelT:
    """Read one YAML file into its model.

    Parameters
    ----------
    path : Path
        The YAML file.
    model : type[ModelT]
        The pydantic model that the whole file must satisfy.

    Returns
    -------
    ModelT
        The validated content.

    Raises
    ------
    DeclarationError
        If the file is missing, is not YAML, or a key is missing, unknown or of the wrong kind.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError as error:
        raise DeclarationError(f"{path}: no such file; restore it from the repository") from error
    except yaml.YAMLError as error:
        raise DeclarationError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise DeclarationError(_describe(path, error)) from error


def _describe(path: Path, error: ValidationError) -> str:
    """Render the first mistakes of a validation as one line per key."""
    lines = []
    for item in error.errors()[:5]:
        key = ".".join(str(part) for part in item["loc"]) or "(top level)"
        advice = (
            "remove it or correct its name" if item["type"] == "extra_forbidden" else "correct it"
        )
        lines.append(f"{path}: {key}: {item['msg']}; {advice}")
    return "\n".join(lines)
