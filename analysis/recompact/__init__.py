"""recompact: runnable evidence on LSM-tree compaction."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
