# Traces, written once by YCSB, and the runs that replay them.

TRACE_WRITER = "workloads/ycsb/target/recompact-ycsb.jar"
SHARED_CLASSES = "workloads/ycsb/target/recompact-ycsb.jsa"


wildcard_constraints:
    run="[0-9a-f]{16}",
    trace="[0-9a-f]{16}",


rule build_trace_writer:
    input:
        pipeline.trace_writer_files(),
    output:
        TRACE_WRITER,
    log:
        "build/logs/build_trace_writer.log",
    priority: FIRST
    shell:
        "python -m recompact.step trace-writer > {log} 2>&1 || (cat {log} >&2; exit 1)"


# Java takes an archive only for the very jar it was made of, by its time, which
# Snakemake sets when the jar is built; so this is no part of that.
rule share_classes:
    input:
        TRACE_WRITER,
    output:
        SHARED_CLASSES,
    log:
        "build/logs/share_classes.log",
    priority: FIRST
    shell:
        "python -m recompact.step share-classes --jar {input} > {log} 2>&1"
        " || (cat {log} >&2; exit 1)"


rule write_trace:
    input:
        jar=TRACE_WRITER,
        classes=ancient(SHARED_CLASSES),
    output:
        "build/traces/{trace}.trace",
    log:
        "build/logs/trace_{trace}.log",
    priority: FIRST  # a run whose trace is late would lose its place among the others
    shell:
        "python -m recompact.step trace --trace {wildcards.trace}"
        " --jar {input.jar} --out {output} > {log} 2>&1 || (cat {log} >&2; exit 1)"


# A run's name is the hash of all that it depends on. Its result lies under that
# name in results/raw, outside of Snakemake's care, so that a finished run is
# never removed or repeated, whatever is newer than it; what Snakemake sees is a
# mark. A run takes all cores, so that nothing is measured beside anything else,
# unless its time is simulated; the priority keeps the planned order, in which the
# repetitions of compared engines interleave.
rule run:
    input:
        driver=lambda w: pipeline.driver_of(plan.run(w.run)),
        traces=lambda w: pipeline.traces_of(plan, w.run),
        base=lambda w: pipeline.base_of(plan.run(w.run)),
    output:
        touch(f"{pipeline.FINISHED}/{{run}}"),
    log:
        "build/logs/run_{run}.log",
    priority: lambda w: pipeline.priority(plan, w.run)
    threads: lambda w: 1 if plan.run(w.run).simulated else workflow.cores
    resources:
        measuring=lambda w: 0 if plan.run(w.run).simulated else 1,
    params:
        raw=pipeline.RAW,
    shell:
        "python -m recompact.step run --run {wildcards.run} --driver {input.driver}"
        " --raw {params.raw} > {log} 2>&1 || (cat {log} >&2; exit 1)"


# What others start from is large, and goes when the last of them is done.
use rule run as prepare with:
    output:
        touch(f"{pipeline.FINISHED}/{{run}}"),
        temp(f"{pipeline.DATABASES}/{{run}}"),
    wildcard_constraints:
        run=pipeline.prepared(plan),


ruleorder: prepare > run
