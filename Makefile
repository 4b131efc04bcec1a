# Everything a visitor needs, each with its own set-up. `make help` lists it.
.POSIX:
.PHONY: help demo test kernels python playground browser formats bench count dash build package
.PHONY: fresh wheel static lint doc site figures cards deny clean module module-test
.PHONY: pgo module-kernels examples gate packaged linked documented

CARGO = cargo
PYTHON = $${CARGO_TARGET_DIR:-target}/python/bin/python
TAPLO = $${CARGO_TARGET_DIR:-target}/python/bin/taplo
WHEELS = $${CARGO_TARGET_DIR:-target}/wheels
MUSL = $$(rustc -vV | sed -n 's/^host: \([^-]*\)-.*/\1/p')-unknown-linux-musl
STATIC = $${CARGO_TARGET_DIR:-target}/$(MUSL)
SOJOURN = $${CARGO_TARGET_DIR:-target}/release/sojourn
DEMO = $${CARGO_TARGET_DIR:-target}/demo/sojourn
# What `cargo test --workspace` builds. `-p sojourn-cli` would enable fewer features of crates from
# outside, and so compile most of the workspace once more.
DEBUG = $${CARGO_TARGET_DIR:-target}/debug

help:
	@echo 'make demo    build, run the home-broadband cell simulated and live, write a report'
	@echo 'make test    everything that must hold: format, lints, tests, documentation'
	@echo 'make kernels builds Linux 6.1, 6.12 and 7.3 for guests, and tests each (an hour)'
	@echo 'make python  the Python package: its wheel, and its tests with pandas, polars and pyarrow'
	@echo 'make playground  the simulator in a page, target/playground/, for any static server'
	@echo 'make browser the playground and reports, and their tests in headless Chromium'
	@echo 'make formats scenarios, studies and bridges held to their schemas with taplo'
	@echo 'make bench   CPU cost beside ns-2, ns-3 and htsim, speed of the kernel world (about 15 min)'
	@echo 'make count   instructions per packet under valgrind, the figure for a busy machine'
	@echo 'make dash    a real DASH player through the live bridge, as root (about 34 min)'
	@echo 'make build   the program, target/release/sojourn'
	@echo 'make pgo     the program compiled with a profile of its runs, target/pgo/sojourn'
	@echo 'make package Debian packages of it and of sojourn-bridge, target/package/*.deb'
	@echo 'make wheel   the Python package with the program in it, target/package/sojourn-*.whl'
	@echo 'make fresh   packages, wheel and static binary tried on a fresh Debian 12, as root'
	@echo 'make static  both programs for any Linux, no libraries, target/package/sojourn-*.tar.gz'
	@echo 'make module  the queues as a module of Linux for installed headers, target/module/*.ko'
	@echo 'make module-test  that module in Debian 12 under QEMU, and in guests (about 15 min)'
	@echo 'make module-kernels  that module in guests of Linux 6.1, 6.12 and 7.3 (an hour)'
	@echo 'make lint    format and lints only'
	@echo 'make figures what documents show of runs and of the code, made anew; says what drifted'
	@echo 'make cards   the cards of all queues and congestion controls, and their gallery (minutes)'
	@echo 'make deny    licences and duplicates of dependencies (needs cargo-deny)'
	@echo 'make doc     the API documentation, target/doc/sojourn_qdisc/index.html'
	@echo 'make site    the documentation as a site with pictures, target/site/html/index.html'

build:
	@scripts/setup build
	$(CARGO) build --release --locked -p sojourn-cli

pgo:
	@scripts/setup build
	@scripts/pgo

package: build
	@scripts/setup package
	$(CARGO) build --release --locked -p sojourn-gateway
	@scripts/package $(SOJOURN) $(SOJOURN)-bridge

fresh: package wheel static
	@scripts/setup fresh
	@scripts/fresh $${CARGO_TARGET_DIR:-target}/package

wheel: build
	@scripts/setup python
	@rm -f $${CARGO_TARGET_DIR:-target}/package/sojourn-*.whl
	$(PYTHON) -m maturin build --quiet --release --locked -m crates/python/Cargo.toml \
		-o $${CARGO_TARGET_DIR:-target}/package
	@scripts/wheel $(SOJOURN) $${CARGO_TARGET_DIR:-target}/package/sojourn-*.whl

static:
	@scripts/setup static
	$(CARGO) build --release --locked --target $(MUSL) -p sojourn-cli -p sojourn-gateway
	@scripts/static pack $(STATIC)/release/sojourn $(STATIC)/release/sojourn-bridge

# For other headers: make module KERNEL=/usr/src/linux-headers-…
module:
	@scripts/setup module
	@contrib/module/build $(KERNEL)

module-test: module
	@scripts/setup module-test
	@scripts/setup test
	@contrib/module/test
	$(CARGO) test --quiet --workspace --locked --no-run --test kernel_module
	$(DEBUG)/sojourn kernel build --module $${CARGO_TARGET_DIR:-target}/module/dkms
	$(CARGO) test --quiet --workspace --locked --test kernel_module

# One alone: make module-kernels KERNELS=7.3
module-kernels: module
	@scripts/setup test
	$(CARGO) test --quiet --workspace --locked --no-run --test kernel_module
	@MODULE=$${CARGO_TARGET_DIR:-target}/module/dkms scripts/kernels $(DEBUG)/sojourn $(KERNELS)

# By a profile of its own: to optimise while linking takes longer than the demo.
demo:
	@scripts/setup build
	@scripts/setup demo
	$(CARGO) build --profile demo --locked -p sojourn-cli
	@scripts/demo $(DEMO)

# What the feature changes is looked at with a test of the workspace beside it: without any, crates
# from outside would have other features and be looked at once more.
lint:
	@scripts/setup build demo
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --bin sojourn --test cli --features sojourn-cli/quinn --locked -- \
		-D warnings
	@python3 -c 'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]' \
		scripts/demo scripts/site scripts/tests scripts/together scripts/wheel \
		scripts/dash/run.py scripts/dash/video.py \
		benches/peers/run.py benches/instructions.py benches/kernel.py benches/frame.py \
		benches/cases.py benches/misses.py benches/pairs.py benches/sweep.py benches/scale.py \
		benches/same.py benches/gym.py benches/dctcp.py benches/peers/queues.py

# Lints first: they fail fastest, and meanwhile the rest of the set-up comes over the network. The
# tidy rules (crates/tidy) are tests like any other. What follows them is mostly done by one thread.
test:
	@scripts/setup build demo
	@scripts/together '$(MAKE) lint' \
		'scripts/setup test count package static python playground browser'
	@scripts/tests
	@scripts/together '$(MAKE) gate' '$(MAKE) python' '$(MAKE) linked' '$(MAKE) documented' \
		'$(MAKE) browser' '$(MAKE) formats' '$(MAKE) examples packaged'

examples:
	$(DEBUG)/examples/fq_codel
	$(DEBUG)/examples/own_aqm
	$(DEBUG)/examples/quic
	$(DEBUG)/examples/tcp

gate:
	@scripts/setup count
	python3 benches/instructions.py --check

packaged:
	@scripts/setup package
	@PACK_WITH=-z1 scripts/package $(DEBUG)/sojourn $(DEBUG)/sojourn-bridge

linked:
	@scripts/setup static
	$(CARGO) build --quiet --locked --profile plain --target $(MUSL) -p sojourn-cli
	@scripts/static check $(STATIC)/plain/sojourn $(DEBUG)/sojourn

documented:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

# A kernel with another tick: make kernels KERNELS=7.3-250
KERNELS = 6.1 6.12 7.3
kernels:
	@scripts/setup test
	$(CARGO) test --quiet --workspace --locked --no-run --test kernel
	@scripts/kernels $(DEBUG)/sojourn $(KERNELS)

# With the profile of tests, so that what they have built is built.
python:
	@scripts/setup python
	$(CARGO) build --quiet --workspace --locked --bin sojourn --example slope --example calm
	@rm -rf $(WHEELS)
	$(PYTHON) -m maturin build --quiet --profile dev --locked -m crates/python/Cargo.toml -o $(WHEELS)
	@scripts/wheel $(DEBUG)/sojourn $(WHEELS)/sojourn-*.whl
	$(PYTHON) -m pip install --quiet --no-deps --force-reinstall $(WHEELS)/sojourn-*.whl
	$(PYTHON) -m mypy --config-file crates/python/pyproject.toml crates/python/sojourn
	$(PYTHON) -m pytest -q crates/python/tests

playground:
	@scripts/setup playground
	@scripts/playground

# The page is built soonest, not smallest. The program beside it, whose reports are looked at too,
# is the one that the workspace's tests use.
browser:
	@scripts/setup playground
	@PROFILE=demo scripts/playground
	@scripts/setup python
	@scripts/setup browser
	$(CARGO) test --quiet --workspace --locked --no-run --test cli
	$(PYTHON) -m pytest -q crates/playground/tests

formats:
	@scripts/setup python
	$(TAPLO) check

doc:
	@scripts/setup build
	$(CARGO) doc --workspace --no-deps --locked

# With the program of the workspace's tests, which gives the same figures as that of a release.
site:
	@scripts/setup site
	$(CARGO) test --quiet --workspace --locked --no-run --test cli
	@rm -rf $(WHEELS)
	$(PYTHON) -m maturin build --quiet --profile dev --locked -m crates/python/Cargo.toml -o $(WHEELS)
	@scripts/wheel $(DEBUG)/sojourn $(WHEELS)/sojourn-*.whl
	$(PYTHON) -m pip install --quiet --no-deps --force-reinstall $(WHEELS)/sojourn-*.whl
	$(PYTHON) scripts/site $(DEBUG)/sojourn

# The tests that hold documents write them instead. What a machine's speed decides stays as it is:
# its documents name the commands.
figures:
	@scripts/setup test
	@scripts/setup python
	-SOJOURN_WRITE=1 $(CARGO) test --quiet --workspace --locked --no-fail-fast --test readme \
		--test pages --test pages_kernel --test grid --test format --test documents \
		--test fidelity
	-SOJOURN_WRITE=1 $(CARGO) test --quiet --workspace --locked --no-fail-fast --test all \
		--test evaluate -- reference the_how_to
	-SOJOURN_WRITE=1 $(CARGO) test --quiet --workspace --locked --no-fail-fast --lib -- \
		the_guide_names is_current are_current
	-SOJOURN_WRITE=1 $(PYTHON) -m pytest -q crates/python/tests/test_docs.py
	@git diff --stat -- README.md docs scenarios

# A test holds them, and writes them instead.
cards:
	@scripts/setup build
	SOJOURN_WRITE=1 $(CARGO) test --quiet --workspace --locked --test cards
	@git diff --stat -- cards docs/cards.md

# Not part of `make test`: to build cargo-deny takes minutes (`cargo install --locked cargo-deny`).
deny:
	$(CARGO) deny check licenses bans sources

bench: build
	@scripts/setup bench
	$(CARGO) bench --locked -p sojourn-qdisc
	@if [ "$$(id -u)" -eq 0 ]; then $(CARGO) bench --locked -p sojourn-live; \
	else echo 'make bench: the bridge takes root, left out' >&2; fi
	$(SOJOURN) kernel build
	python3 benches/kernel.py --sojourn $(SOJOURN)
	python3 benches/peers/run.py --sojourn $(SOJOURN)
	python3 benches/peers/queues.py
	python3 benches/sweep.py --program $(SOJOURN)
	python3 benches/scale.py --program $(SOJOURN)

# Options of benches/instructions.py go into COUNT: make count COUNT='10g --against main'
count:
	@scripts/setup count
	python3 benches/instructions.py $(COUNT)

# Options of scripts/dash/run.py go into DASH: make dash DASH='--seconds 60'
dash: build
	@scripts/setup dash
	@scripts/dash/run.py $(DASH) $(SOJOURN)

clean:
	$(CARGO) clean
	rm -rf out benches/peers/build benches/build
