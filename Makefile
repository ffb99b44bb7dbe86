# The only entry. Everything it makes lies in .venv/ and build/; `rm -rf .venv build` undoes it.

.DELETE_ON_ERROR:
.SILENT:
.DEFAULT_GOAL := help

PYTHON ?=
JOBS   ?= $(shell nproc)
export PYTHON PACKAGES

MPIS := mpich openmpi impi

.PHONY: help
help:
	sed -n 's/^\([a-z-]*\):.*## /  make \1@/p' $(MAKEFILE_LIST) | column -t -s @

# ---- set-up ----------------------------------------------------------------------------------------------------

.PHONY: packages mpi
packages:
	scripts/system-packages.sh

mpi: $(MPIS:%=mpi-%)   ## only the MPI libraries (build/mpi), one environment each
.PHONY: $(MPIS:%=mpi-%)
$(MPIS:%=mpi-%): mpi-%: packages
	scripts/environment.sh build/mpi/$* scripts/requirements/$*.txt
