# Raw runs to tidy tables and claims.

PLAN = pipeline.write_plan(selection)


rule tables:
    input:
        plan=PLAN,
        runs=pipeline.results_of(plan),
    output:
        directory(f"results/{scale}/tables"),
    log:
        f"build/logs/tables_{scale}.log",
    shell:
        "python -m recompact step tables --plan {input.plan} --out {output}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"
