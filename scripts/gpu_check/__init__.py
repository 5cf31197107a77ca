"""The parts of scripts/gpu-check. Python's standard library only, so that they run
on a machine that has nothing installed but what its image came with."""
