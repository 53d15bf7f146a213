# Loads the declarations, plans the runs of one scale, and includes the rules.
# `./repro --help` explains the commands around it.
from pathlib import Path

from snakemake.utils import min_version

from recompact import ROOT, environment, jobs, pipeline

min_version("9.0")
environment.check_path(root=Path(workflow.basedir))
if workflow.is_main_process:
    # Held while this process lives; the jobs of a cluster are part of it.
    lock = pipeline.lock()
    pipeline.note_builders()


# Debian 12 is what ./repro needs and is tried on. Snakemake looks at this only
# when it is told to deploy software, with --sdm apptainer.
container: "docker://debian:12-slim"


scale = config["scale"]
also = config.get("also", "").split()
selection = pipeline.select(
    scale, config.get("panels", "all"), pipeline.host(config), also
)
plan = selection.plan
jobs.write(ROOT, [*plan.traces.values(), *plan.runs.values()])


include: "engines/engines.smk"
include: "workloads/workloads.smk"
include: "analysis/analysis.smk"
include: "paper_figures/figures.smk"


# With the limit, which nobody asked for, each job that ends leaves a timer that
# looks at all waiting jobs every second, beside what is measured. It is read
# first, so that a Snakemake that has no such limit stops here.
onstart:
    if workflow.scheduler.job_rate_limiter is not None:
        workflow.scheduler.job_rate_limiter = None


localrules:
    all,


rule all:
    default_target: True
    input:
        f"results/{scale}/report/index.html",
