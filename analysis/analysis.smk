# Raw runs to tidy tables, and the tables to verdicts.

TABLES = [
    f"results/{scale}/{name}"
    for name in (
        "experiments.csv",
        "runs.csv",
        "phases.csv",
        "timeline.csv",
        "compactions.csv",
        "events.csv",
        "spans.csv",
        "profile.csv",
        "noise.csv",
        "specifications.csv",
        "scale.json",
    )
]


rule tables:
    input:
        plan=pipeline.write_plan(selection),
        runs=pipeline.marks_of(plan),
    output:
        TABLES,
    log:
        f"build/logs/{scale}/tables.log",
    params:
        out=lambda w, output: pipeline.folder_of(output[0]),
    shell:
        "python -m recompact.step tables --plan {input.plan} --out {params.out}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule claims:
    input:
        TABLES,
        claims="paper_figures/claims.yaml",
    output:
        report(f"results/{scale}/claims.csv", category="claims"),
    log:
        f"build/logs/{scale}/claims.log",
    params:
        tables=lambda w, input: pipeline.folder_of(input[0]),
    shell:
        "python -m recompact.step claims --tables {params.tables} --out {output}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"
