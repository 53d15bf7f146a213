"""recompact: runnable evidence on LSM-tree compaction."""
