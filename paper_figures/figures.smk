# Tables to figures, and everything to the page.

RENDERED = f"paper_figures/rendered/{scale}"


rule figures:
    input:
        "paper_figures/figures.yaml",
        TABLES,
    output:
        expand(
            f"{RENDERED}/{{figure}}.{{kind}}",
            figure=[figure.id for figure in selection.figures],
            kind=["png", "svg", "csv"],
        ),
    log:
        f"build/logs/{scale}/figures.log",
    params:
        tables=f"results/{scale}",
        figures=",".join(figure.id for figure in selection.figures),
        out=RENDERED,
    shell:
        "python -m recompact step figures --tables {params.tables}"
        " --figures {params.figures} --out {params.out}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule report:
    input:
        f"results/{scale}/claims.csv",
        rules.figures.output,
    output:
        f"results/{scale}/report/index.html",
    log:
        f"build/logs/{scale}/report.log",
    params:
        tables=f"results/{scale}",
        rendered=RENDERED,
    shell:
        "python -m recompact step report --tables {params.tables}"
        " --rendered {params.rendered} --out {output}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"
