#!/bin/bash
# What docs/cluster.md gives Slurm, as far as one machine can: its script, read off that page, once for each task of an array with
# the variables that Slurm sets; the first task is killed and queued again. BUILD: the folder of the programs.
set -eu
build=$(realpath "${BUILD:-build}")
page=$(realpath docs/cluster.md)
model=$(realpath examples/fitzhugh_nagumo.yaml)
folder=$(mktemp -d /tmp/mdf_slurm_XXXXXX)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PATH="$build:$PATH" SLURM_CPUS_PER_TASK=2 SLURM_ARRAY_TASK_COUNT=4

sed -n '/^    #!\/bin\/bash/,/^$/s/^    //p' "$page" >job.sh
cp "$model" model.yaml
printf 'parameters: {membrane.a: {linspace: [0.5, 0.9, 1500]}}\nsteps: 20000\ndt: 0.05\nrecord: [membrane.V]\n' >sweep.yaml
SLURM_ARRAY_TASK_ID=1 bash job.sh &
sleep 0.1
kill -9 "$(pgrep -P $! mdf-run || echo $!)" 2>/dev/null || true
wait || true
for task in 1 2 3 4; do
    SLURM_ARRAY_TASK_ID=$task bash job.sh
done
mdf-merge results.zarr part-*.zarr
mdf-run --sweep sweep.yaml model.yaml -o alone.zarr --quiet
diff -r alone.zarr results.zarr
echo "the array of 4 tasks, one of them killed, gave the bytes of one call"
