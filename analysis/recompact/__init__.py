"""recompact: runnable evidence on LSM-tree compaction."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# NumPy reads this when it is loaded. Our matrices are small: threads that wait for each other
# beside busy processors made fitting costs fifteen times as long.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
