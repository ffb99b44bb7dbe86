# The only entry: `make demo` and `make test` set everything up first. What they make lies in .venv/ and build/, so
# `rm -rf .venv build` undoes it. Every step is skipped when it is done and repeated when it was interrupted.

.DELETE_ON_ERROR:
.SILENT:
.DEFAULT_GOAL := help

# Variables one may give: make PYTHON=/usr/bin/python3 JOBS=4 test
PYTHON ?=
JOBS   ?= $(shell nproc)
export PYTHON PACKAGES PREFIX DESTDIR
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

BIN  := .venv/bin
MPIS := mpich openmpi impi
SOURCES = $(shell find include src tests bench examples -name '*.[ch]pp' -o -name '*.[ch]')
PYTEST_MARKS ?= not long and not lab and not live and not soak

.PHONY: help
help:
	awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- what people come for --------------------------------------------------------------------------------------------

.PHONY: demo test long apps lint bench figures results measures setup format
demo:                  ## two minutes: real programs with and without Espalier, side by side: table and report page
	scripts/demo.sh

# Tests start jobs of up to eight ranks each: three files of them at a time, however many cores there are, as one or the
# other waits for something. Some measure: what fails on a machine that is disturbed has to pass the second time.
test:                  ## set up, then every test, and the demo; says how long each part took
	scripts/timed.sh "set-up" $(MAKE) --no-print-directory setup
	scripts/timed.sh "static checks" $(MAKE) --no-print-directory lint
	scripts/timed.sh "unit tests" ctest --test-dir build/release --output-on-failure --parallel $(JOBS) --repeat until-pass:2
	scripts/timed.sh "tests of MPI jobs and the command" scripts/test.sh -n 3 --dist loadfile --no-loadscope-reorder --durations 20 -m '$(PYTEST_MARKS) and not alone' tests
	scripts/timed.sh "tests of what is measured" scripts/test.sh -m '$(PYTEST_MARKS) and alone' tests
	scripts/timed.sh "the demo" $(MAKE) --no-print-directory demo

# What `make test` leaves out: other people's programs, clean systems and such, which have targets of their own, aside.
long: setup            ## the rest of the products of MPIs, sizes and placements of which `make test` takes a part: an hour
	$(BIN)/python -m pytest -m 'long and not alone' tests/command tests/mpi tests/property tests/simulation

apps: setup            ## set up, then other people's programs from Debian and PyPI: the same results, and docs/applications.md
	scripts/system-packages.sh apps
	test -x build/neuron/bin/python || { $(BIN)/python -m venv build/neuron && build/neuron/bin/pip install -q neuron; }
	scripts/environment.sh build/mpi4py-fft scripts/requirements/mpi4py-fft.txt
	$(BIN)/python -m pytest -m long tests/apps
	$(BIN)/python bench/applications.py

lint: .venv/.complete  ## formatting and static checks of C++ and Python
	scripts/check-format.sh $(SOURCES)
	$(BIN)/ruff check --quiet python tests bench docs/site packaging/pages.py packaging/sbom.py
	$(BIN)/ruff format --check python tests bench docs/site packaging/pages.py packaging/sbom.py || { echo "run: make format" >&2; exit 1; }
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/mypy packaging/pages.py packaging/sbom.py
	MYPYPATH=python:packaging:docs/site $(BIN)/mypy docs/site
	MYPYPATH=bench $(BIN)/mypy bench/applications.py bench/beginnings.py bench/embedding.py bench/forms.py bench/measured_picture.py bench/measures.py
	MYPYPATH=bench $(BIN)/mypy bench/measures_page.py
	MYPYPATH=bench $(BIN)/mypy bench/scaling.py bench/scaling_page.py bench/scaling_points.py bench/versions.py

format: .venv/.complete  ## put sources into the form that lint wants
	clang-format-14 -i $(SOURCES)
	$(BIN)/ruff check --quiet --fix python tests bench docs/site packaging/pages.py packaging/sbom.py
	$(BIN)/ruff format --quiet python tests bench docs/site packaging/pages.py packaging/sbom.py

bench: setup           ## native against Espalier, every collective, 2 ranks, every size
	$(BIN)/espalier bench --ops all -n 2

figures: setup         ## the papers' figures, as far as this machine can: data, pictures, verdicts in build/results
	$(BIN)/espalier reproduce all --mpi mpich-5,openmpi-5,intel

results: .venv/.complete  ## docs/results.md and its pictures again, from the data kept in docs/results
	$(BIN)/espalier reproduce all --from-data --output docs/results --page docs/results.md

measures: setup        ## what we set out to reach, tuned and measured under every MPI, with verdicts: build/measures/measured.md
	$(BIN)/python bench/measures.py; status=$$?; \
	  $(BIN)/python bench/measures_page.py build/measures build/measures && exit $$status

.PHONY: sim
sim: setup             ## plans on simulated networks: exact times, the cost model, and with SimGrid the library executed
	cmake -S . -B build/release >/dev/null && scripts/build.sh
	$(BIN)/python -m pytest -rs tests/simulation tests/command/test_simulate.py tests/command/test_without_simgrid.py

.PHONY: scaling
scaling: setup         ## 3 minutes: scaling curves on simulated networks against other MPIs, 128 ranks: build/scaling
	$(BIN)/python bench/scaling.py --ranks 128 --output build/scaling

.PHONY: nodes
nodes: setup           ## ten minutes: our algorithms beside modelled peers inside simulated nodes of many cores: docs/nodes.md
	$(BIN)/python bench/nodes_points.py docs/nodes/after.csv
	$(BIN)/python bench/nodes_page.py

# The cluster is up for the tests only; `espalier lab up` is for people.
.PHONY: lab
lab: setup             ## as root: an emulated cluster of network namespaces, with Slurm, and the tests that need it
	scripts/system-packages.sh lab
	$(BIN)/python -m pytest -m lab tests

.PHONY: soak
soak: setup            ## 30 minutes, or SOAK_MINUTES: random jobs under every MPI, killed and limited ones among them
	$(BIN)/python -m pytest -s -m soak tests/mpi/test_soak.py

.PHONY: docs
docs: setup            ## the documentation as a site with search: build/docs/index.html; any warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site -d build/docs/.trees . build/docs
	echo "file://$(CURDIR)/build/docs/index.html"

.PHONY: links
links: setup           ## whether what the documentation links to on the web is there, as far as there is a network
	$(BIN)/sphinx-build -q -b linkcheck -c docs/site -d build/docs/.trees . build/links || test -s build/links/output.json
	$(BIN)/python docs/site/links.py build/links/output.json

.PHONY: tutorials
tutorials: setup       ## what docs/tutorials say, done on a copy of this checkout, which is built from scratch
	$(BIN)/python -m pytest -m long tests/tutorials

.PHONY: fabric-live
fabric-live: setup     ## a simulated InfiniBand subnet with its real tools, collector, service; links and switches fail
	scripts/system-packages.sh fabric
	$(BIN)/python -m pytest -m live tests/command/test_fabric_live.py

# ---- for others to install --------------------------------------------------------------------------------------------

.PHONY: dist deb roots install uninstall
# Who installs wants none of what tests need: no browser, no Fortran, no SimGrid.
dist install: SYSTEM := build
# One wheel for Python 3.11, whose binary interface ends with it, and one for all later ones; of those that are here.
DIST_PYTHONS ?= $(shell scripts/dist-pythons.sh 3.11 3.12)
dist: mpi .venv/.complete  ## wheels for every x86_64 Linux with glibc 2.28 or later, and their debug files, in dist/
	scripts/dist.sh $(DIST_PYTHONS)
	$(BIN)/python -m pytest -m 'not long' tests/dist tests/packaging

roots: dist            ## wheels and Debian packages in clean Debian systems, as root: made by debootstrap in build/dist/roots
	scripts/system-packages.sh dist
	scripts/debian.sh
	DESTDIR=$(CURDIR)/build/staged scripts/prefix.sh install
	$(BIN)/python -m pytest -rs tests/dist tests/packaging

deb: dist              ## Debian packages of the same binaries, in dist/
	scripts/system-packages.sh dist
	scripts/debian.sh
	$(BIN)/python -m pytest tests/dist/test_debian.py

install: mpi .venv/.complete  ## libraries, headers, CMake and pkg-config files and the command below DESTDIR and PREFIX
	scripts/prefix.sh install

uninstall:             ## remove what `make install` with the same DESTDIR and PREFIX has put there
	scripts/prefix.sh uninstall

# ---- sanitizers ------------------------------------------------------------------------------------------------------

.PHONY: asan tsan
asan: SANITIZER := address
tsan: SANITIZER := thread
# UCX hooks madvise, which a thread calls when it has left ThreadSanitizer's care: then its locks crash.
tsan: export UCX_MEM_MMAP_HOOK_MODE := none
asan: sanitized  ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
tsan: sanitized  ## unit tests under ThreadSanitizer

.PHONY: sanitized
sanitized: mpi
	cmake -S . -B build/$(SANITIZER) -G Ninja -DESPALIER_TESTS=ON -DESPALIER_SANITIZE=$(SANITIZER) >/dev/null
	cmake --build build/$(SANITIZER)
	ctest --test-dir build/$(SANITIZER) --output-on-failure --parallel $(JOBS)

# With AARCH64_TESTS="plan execute conformance" only those folders of tests/unit, and MPI jobs.
.PHONY: aarch64
aarch64: mpi-mpich .venv/.complete  ## unit tests and MPI jobs on 64-bit ARM: Debian's cross compiler, and qemu for the processor
	scripts/system-packages.sh cross
	scripts/aarch64.sh $(AARCH64_TESTS)

DIST_PYTHON_AARCH64 ?= $(lastword $(DIST_PYTHONS))
.PHONY: dist-aarch64
dist-aarch64: dist     ## the same for aarch64, one wheel for Python 3.12 and all later ones, and Debian 13's Python imports it by qemu
	scripts/system-packages.sh cross
	MACHINE=aarch64 scripts/dist.sh $(DIST_PYTHON_AARCH64)
	$(BIN)/python -m pytest tests/dist/test_aarch64.py

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: mpi              ## fuzz the readers of network dumps and the service's protocol: a minute each, or FUZZ_SECONDS
	scripts/system-packages.sh fuzz
	cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_C_COMPILER=clang-14 \
	    -DESPALIER_TESTS=ON -DESPALIER_SANITIZE=fuzz >/dev/null
	cmake --build build/fuzz --target fuzz_readers fuzz_protocol
	for name in protocol readers; do \
	    mkdir -p build/fuzz/corpus/$$name build/fuzz/crashes && \
	    build/fuzz/tests/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
	        -print_final_stats=1 -artifact_prefix=build/fuzz/crashes/ build/fuzz/corpus/$$name tests/fuzz/corpus/$$name \
	        || exit 1; \
	done

# ---- set-up ----------------------------------------------------------------------------------------------------------

.PHONY: clean packages mpi $(MPIS:%=mpi-%)
setup: mpi build/stamps/installed   ## everything that demo and test need, without running them
	scripts/build.sh

mpi: $(MPIS:%=mpi-%)   ## only the MPI libraries, one environment each under build/mpi
$(MPIS:%=mpi-%): mpi-%: packages
	scripts/environment.sh build/mpi/$* scripts/requirements/$*.txt

packages:
	scripts/system-packages.sh $(SYSTEM)

.venv/.complete: scripts/requirements/tools.txt | packages
	scripts/environment.sh .venv scripts/requirements/tools.txt
	touch $@

# The first build goes through pip, which also leaves the `espalier` command; later ones through scripts/build.sh. An
# editable installation notes where each module lies, so it is made again when the package's folders change.
build/stamps/installed: pyproject.toml .venv/.complete $(shell find python -name __init__.py) | mpi
	scripts/install.sh
	mkdir -p $(@D) && touch $@

clean:   ## remove everything that was made here
	rm -rf .venv build
