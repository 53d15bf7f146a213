# Tables to figures, and everything to the page.

RENDERED = f"paper_figures/rendered/{scale}"


rule figures:
    input:
        TABLES,
        figures="paper_figures/figures.yaml",
    output:
        [
            report(
                f"{RENDERED}/{figure.id}.svg",
                category=figure.paper,
                labels={"figure": figure.panel, "title": figure.title},
            )
            for figure in selection.figures
        ],
        expand(
            f"{RENDERED}/{{figure}}.{{kind}}",
            figure=[figure.id for figure in selection.figures],
            kind=["png", "csv"],
        ),
    log:
        f"build/logs/{scale}/figures.log",
    params:
        tables=lambda w, input: pipeline.folder_of(input[0]),
        figures=",".join(figure.id for figure in selection.figures),
        out=lambda w, output: pipeline.folder_of(output[0]),
    shell:
        "python -m recompact.step figures --tables {params.tables}"
        " --figures {params.figures} --out {params.out}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule report:
    input:
        claims=f"results/{scale}/claims.csv",
        figures=rules.figures.output,
    output:
        f"results/{scale}/report/index.html",
    log:
        f"build/logs/{scale}/report.log",
    params:
        tables=lambda w, input: pipeline.folder_of(input.claims),
        rendered=lambda w, input: pipeline.folder_of(input.figures[0]),
    shell:
        "python -m recompact.step report --tables {params.tables}"
        " --rendered {params.rendered} --out {output}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"
