# Traces, written once by YCSB, and the runs that replay them.

TRACE_WRITER = "workloads/ycsb/target/recompact-ycsb.jar"


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
    shell:
        "python -m recompact step trace-writer > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule write_trace:
    input:
        ancient(TRACE_WRITER),
    output:
        "build/traces/{trace}.trace",
    params:
        scale=scale,
    log:
        "build/logs/trace_{trace}.log",
    shell:
        "python -m recompact step trace --scale {params.scale} --trace {wildcards.trace}"
        " --jar {input} --out {output} > {log} 2>&1 || (cat {log} >&2; exit 1)"


# A run's name is the hash of all that it depends on, so a finished run is never
# repeated: its inputs only have to exist. It takes all cores, so that nothing is
# measured beside anything else; the priority keeps the planned order, in which
# the repetitions of compared engines interleave.
rule run:
    input:
        driver=lambda w: ancient(pipeline.driver_of(plan.runs[w.run])),
        traces=lambda w: ancient(pipeline.traces_of(plan, w.run)),
        base=lambda w: ancient(pipeline.base_of(plan.runs[w.run])),
    output:
        "results/raw/{run}/run.json",
    params:
        scale=scale,
        runtime=runtime,
    log:
        "build/logs/run_{run}.log",
    threads: workflow.cores
    resources:
        measuring=1,
    priority: lambda w: pipeline.priority(plan, w.run)
    shell:
        "python -m recompact step run --scale {params.scale} --run {wildcards.run}"
        " --runtime {params.runtime} > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule profile:
    input:
        driver=lambda w: ancient(pipeline.driver_of(plan.runs[w.run])),
        traces=lambda w: ancient(pipeline.traces_of(plan, w.run)),
        base=lambda w: ancient(pipeline.base_of(plan.runs[w.run])),
    output:
        "results/raw/{run}/profile.json",
    params:
        scale=scale,
        runtime=runtime,
    log:
        "build/logs/profile_{run}.log",
    threads: workflow.cores
    resources:
        measuring=1,
    priority: lambda w: pipeline.priority(plan, w.run)
    shell:
        "python -m recompact step profile --scale {params.scale} --run {wildcards.run}"
        " --runtime {params.runtime} 2>&1 | tee {log}"
