# Upstream's tarball, the two trees made from it, and a replay driver per engine.

UPSTREAM = "build/upstream/leveldb.tar.gz"

# Before any run: an engine that is built late would run after the others
# instead of in turn with them.
FIRST = len(plan.runs) + 1


rule fetch_upstream:
    input:
        "engines/upstream.yaml",
    output:
        UPSTREAM,
    log:
        "build/logs/fetch_upstream.log",
    priority: FIRST
    shell:
        "python -m recompact.step fetch --out {output} > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule unpack_tree:
    input:
        tarball=UPSTREAM,
        patches=lambda w: pipeline.patch_files(w.tree),
    output:
        touch("build/trees/{tree}.unpacked"),
    log:
        "build/logs/unpack_{tree}.log",
    priority: FIRST
    shell:
        "python -m recompact.step unpack --tarball {input.tarball} --tree {wildcards.tree}"
        " --out build/trees/{wildcards.tree} > {log} 2>&1 || (cat {log} >&2; exit 1)"


rule build_engine:
    input:
        tree=lambda w: f"build/trees/{pipeline.tree_of(w.engine)}.unpacked",
        sources=lambda w: pipeline.engine_files(w.engine),
    output:
        "build/engines/{engine}/driver/recompact_driver",
    log:
        "build/logs/build_{engine}.log",
    priority: FIRST
    threads: workflow.cores
    shell:
        "python -m recompact.step build --engine {wildcards.engine}"
        " > {log} 2>&1 || (cat {log} >&2; exit 1)"


# What measures in containers.
rule build_image:
    input:
        pipeline.image_files(),
        f"{pipeline.BUILDERS}/{pipeline.IMAGE}",
    output:
        "build/images/{runtime}.name",
    log:
        "build/logs/build_image_{runtime}.log",
    priority: FIRST
    threads: workflow.cores
    params:
        tag=lambda w: pipeline.image(),
    shell:
        "python -m recompact.step image --runtime {wildcards.runtime} --tag {params.tag}"
        " --out {output} > {log} 2>&1 || (cat {log} >&2; exit 1)"
