# Quickstep's front door. `make demo` shows it, `make test` proves it, `make bench` measures it.
#
# Every target sets up what it needs: a C toolchain and Python's venv from Debian's packages when they are missing, a
# virtual environment with the pinned Python packages, the release build. The build folder lives in a cache folder, so
# that clones share one compilation of the dependencies; set CARGO_TARGET_DIR to put it elsewhere.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:

CACHE := $(if $(QUICKSTEP_CACHE),$(QUICKSTEP_CACHE),$(HOME)/.cache/quickstep)
export CARGO_TARGET_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(CACHE)/target)
VENV := $(CACHE)/venv
PYTHON := $(VENV)/bin/python
RELEASE := $(CARGO_TARGET_DIR)/release
SCALE := 1
SERVE :=
WORKERS :=
TARGET :=
DIST := dist
ENGINES := quickstep,duckdb,hyper,datafusion,polars,monetdb,chdb,polars-float64,postgres,spark
SUITES := tpch ssb ssbflat tpcds tpchshuffled clickbench dbbench movies
comma := ,

.PHONY: page test-page demo test tests test-asserted test-shipped nightly miri loom bench bench-ablation bench-network study-storage study-uot build deb serve-demo wheel book reference tidy format lint fuzz clean setup environment

demo: build wheel
	@$(RELEASE)/quickstep tpch --scale $(SCALE) $(if $(WORKERS),--workers $(WORKERS))
	@echo
	@echo "Go on with:"
	@echo "  $(RELEASE)/quickstep                                a prompt; try: CALL tpch(scale => 0.1); SELECT count(*) FROM lineitem;"
	@echo "  $(RELEASE)/quickstep -c \"SELECT * FROM 'file.parquet' LIMIT 5\""
	@echo "  $(RELEASE)/quickstep ssb --scale 1                  the Star Schema Benchmark"
	@echo "  pip install dist/quickstep_sql-*.whl                the Python package: import quickstep"
	@echo "  make bench ENGINES=quickstep,duckdb,hyper            beside others, on the same files; without ENGINES all"

# A server on TPC-H, generated once into the cache folder, and the address of its page, which is opened where there is a
# display. Ctrl-C stops it. SERVE="--port 5433" says more.
serve-demo: build
	@exec packaging/serve-demo $(RELEASE)/quickstep $(SCALE) $(CACHE)/serve-demo $(SERVE)

# The Debian package, in dist/: docs/how-to/packages.md.
deb: build
	packaging/build-deb --binary $(RELEASE)/quickstep --out $(DIST)

# What a fresh Debian machine lacks. Nothing is done when everything is there.
setup:
	@missing=""
	@command -v cc >/dev/null || missing="$$missing build-essential"
	@command -v git >/dev/null || missing="$$missing git"
	@python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$$missing python3-venv python3-pip"
	@# psql, and pgbench, which comes with the server: clients of the tests.
	@{ command -v psql && ls /usr/lib/postgresql/*/bin/pgbench; } >/dev/null 2>&1 || missing="$$missing postgresql"
	@if [ -n "$$missing" ]; then
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq $$missing
	fi
	@command -v cargo >/dev/null || { echo "Rust is needed: see https://rustup.rs"; exit 1; }

build: setup
	cargo build --release --package cli

# The Python packages of the wheel and its tests; the peers come with `make bench`.
environment: setup
	@if [ ! -x $(PYTHON) ]; then python3 -m venv $(VENV); fi
	@$(PYTHON) -c 'import maturin, mypy, pyarrow, pytest, pexpect, pandas, polars, sqlalchemy, ipykernel' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r crates/python/requirements.txt
	@$(PYTHON) -c 'import psycopg, asyncpg, pg8000, adbc_driver_flightsql' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r crates/server/clients/requirements.txt

# With TARGET=aarch64, for Linux machines of that kind: zig, a package of PyPI, is compiler and linker of what is C. Such a
# wheel is built and not installed.
wheel: environment
	@rm -f $(DIST)/quickstep_sql-*$(or $(TARGET),$(shell uname -m)).whl
	@if [ -n "$(TARGET)" ]; then
	  rustup target add $(TARGET)-unknown-linux-gnu
	  $(PYTHON) -c 'import ziglang' 2>/dev/null || $(PYTHON) -m pip install --quiet --disable-pip-version-check ziglang
	  VIRTUAL_ENV=$(VENV) PATH="$(VENV)/bin:$$PATH" maturin build --release --quiet --zig --target $(TARGET)-unknown-linux-gnu --manifest-path crates/python/Cargo.toml --out $(DIST)
	  ls $(DIST)/quickstep_sql-*$(TARGET).whl
	  exit
	fi
	VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin build --release --quiet --manifest-path crates/python/Cargo.toml --interpreter $(PYTHON) --out $(DIST)
	@# The distribution was called quickstep, and its files are those of this one.
	$(PYTHON) -m pip uninstall --quiet --yes quickstep 2>/dev/null
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(DIST)/quickstep_sql-*$$(uname -m).whl

tidy:
	cargo xtask tidy

format:
	cargo fmt --all

# Clippy without a finding, tests included, and documentation for everything public; what is allowed stands in Cargo.toml. It
# begins `make test`: it says in minutes what a build and the tests would take longer to.
lint: setup
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	cargo clippy --release --workspace --exclude python --all-targets -- -D warnings -D missing_docs

# Tests under Miri, which finds undefined behaviour and data races: of the crates with unsafe code, of the bus and of its
# locks. Hours. Files and machine calls that it does not interpret are left out, and what moves millions of values
# does so with fewer where it looks at cfg!(miri). The table that the bus' clients read without a lock is run as it is, from
# several seeds: each is another order of threads and of what they see of memory.
MIRI := cargo +nightly miri test
miri:
	rustup component add miri rust-src --toolchain nightly
	export MIRIFLAGS="-Zmiri-disable-isolation" CARGO_TARGET_DIR=$(CACHE)/miri
	$(MIRI) --package sync
	$(MIRI) --package memory --lib -- --skip affinity
	$(MIRI) --package simd --lib
	$(MIRI) --package vector --lib
	$(MIRI) --package hash --lib
	$(MIRI) --package block --lib
	$(MIRI) --package bus --no-default-features --lib
	$(MIRI) --package bus --no-default-features --test suites -- --skip crashes::
	MIRIFLAGS="$$MIRIFLAGS -Zmiri-many-seeds=0..16" $(MIRI) --package bus --no-default-features --lib table

# Every interleaving of a few calls of the bus, under the model checker loom.
loom:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(CACHE)/loom cargo test --release --package bus --no-default-features --lib model

test: lint tests

# A test that hangs ends its program after 25 minutes, with its name as the last one printed; the slowest program takes
# six by itself.
tests: wheel
	! command -v timeout >/dev/null || export CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_RUNNER="timeout --verbose 1500"
	cargo test --release --workspace --exclude python --exclude bus
	cargo test --release --package bus
	$(call suites)

# As `make test`, with assertions and checks for overflow in the crates of the workspace, optimised otherwise; the wheel and
# the command that it starts have them, too, and are not those of `make wheel` and `make build`. Dependencies are the same,
# and are compiled once.
test-asserted: export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS := true
test-asserted: export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS := true
test-asserted: DIST := $(CARGO_TARGET_DIR)/asserted
test-asserted: tests

# The tests in Python, of the wheel and of the command as they are shipped.
test-shipped: wheel build
	$(call suites)

define suites
(cd crates/python && $(PYTHON) -m pytest -q tests)
	(cd crates/cli && $(PYTHON) -m pytest -q tests)
	(cd crates/server && $(PYTHON) -m pytest -q clients)
	(cd packaging && $(PYTHON) -m pytest -q tests)
	(cd bench && $(PYTHON) -m pytest -q tests)
	(cd book && $(PYTHON) -m pytest -q tests)
	(cd tests/published && $(PYTHON) -m pytest -q .)
endef

# What takes longer than anybody waits for: an hour of the rewrite fuzzer, of it a fifth beside PostgreSQL 15 and DuckDB,
# the query fuzzer, the scheduler's soak, loom, Miri, every function under a small memory limit, every test with assertions, what is shipped, Ibis,
# and SQLAlchemy's own suite. NIGHTLY_SECONDS=60 is a check of some minutes.
# PostgreSQL comes from Debian's packages when it is missing.
NIGHTLY_SECONDS := 3600
nightly: environment
	cargo build --release --package conformance --bin fuzz
	seed=$$(( $$(date +%s) / 86400 * 100000 ))
	cases=$$(mktemp -d)
	trap 'rm -rf $$cases' EXIT
	$(RELEASE)/fuzz --rules --seconds $$(( $(NIGHTLY_SECONDS) * 4 / 5 )) --seed $$seed
	$(RELEASE)/fuzz --rules --seconds $$(( $(NIGHTLY_SECONDS) / 30 )) --seed $$seed --emit $$cases
	$(PYTHON) -c 'import duckdb, psycopg' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check duckdb==2.0.0 'psycopg[binary]' pyarrow
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || {
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq postgresql
	}
	$(PYTHON) crates/conformance/fuzz_duckdb.py $$cases --postgres private
	$(RELEASE)/fuzz --seconds $(NIGHTLY_SECONDS) --seed $$seed
	cargo test --release --package cli --test memory_limit -- --ignored
	cargo checked --package scheduler --lib -- --ignored soak
	cargo test --release --package multiplexer --test simulation -- --ignored
	QUICKSTEP_SIMULATIONS=10000 cargo test --release --package engine --test nodes random_plans
	$(MAKE) test-shipped
	$(PYTHON) -c 'import ibis, pyarrow_hotfix' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r crates/python/requirements-nightly.txt
	(cd crates/python && $(PYTHON) -m pytest -q tests/test_ibis.py && $(PYTHON) tests/sqlalchemy/run.py)
	$(MAKE) test-asserted
	$(MAKE) loom
	$(MAKE) miri

# Quickstep beside everybody, or beside ENGINES=a,b: installs what lacks, says what it could not, draws what was
# recorded: docs/results/everybody.md. Spark and PostgreSQL have their turns in a run of their own, for the memory.
bench: wheel
	@$(PYTHON) -c 'import duckdb, tableauhyperapi, matplotlib' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	cd bench
	PYTHON=$(PYTHON) SCALE=$(SCALE) ENGINES=$(ENGINES) SUITES="$(SUITES)" ./everybody.sh

# The multiplexer between network namespaces; as root. Exits with 2 where namespaces cannot be made.
bench-network:
	cargo build --release --package multiplexer --example all_to_all
	$(PYTHON) bench/cluster/network.py --binary $(RELEASE)/examples/all_to_all

# What each technique is worth, switched off and on: docs/results/ablation.md.
bench-ablation: build environment
	@$(PYTHON) -c 'import matplotlib' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(PYTHON) bench/ablation.py --quickstep $(RELEASE)/quickstep --scale $(SCALE) --data $(CACHE)/data

# The thesis' storage study, MonetDB beside its SSB: docs/results/storage-study.md. An hour and 12 GB of memory with these
# sizes; ROWS=2000000 SCALES=0.1 STUDY=/tmp/study.jsonl is a check of a minute that draws nothing.
ROWS := 100000000
SCALES := 1,4
STUDY := bench/results/storage-study.jsonl
study-storage: wheel
	cargo build --release --package conformance --bin storage_study
	$(RELEASE)/storage_study --rows $(ROWS) --scales $(SCALES) --record $(STUDY)
	@[ "$(STUDY)" = bench/results/storage-study.jsonl ] || exit 0
	@$(PYTHON) -c 'import matplotlib' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	cd bench
	engines=$$($(PYTHON) install_peers.py quickstep monetdb)
	for scale in $(subst $(comma), ,$(SCALES)); do
	  $(PYTHON) prepare.py --suite ssb --scale $$scale
	  $(PYTHON) -m compare --suite ssb --scale $$scale --engines $$engines --series storage-study || true
	done
	$(PYTHON) storage_study.py

# The study of the unit of transfer: docs/results/unit-of-transfer.md. Ten minutes on two cores with these sizes;
# UOT_ROWS=1000000 UOT_SCALE=0.1 UOT_STUDY=/tmp/study.jsonl is a check of a minute that draws nothing.
UOT_ROWS := 10000000
UOT_SCALE := 1
UOT_RUNS := 5
UOT_STUDY := bench/results/unit-of-transfer.jsonl
study-uot: environment
	cargo build --release --package conformance --bin transfer_study
	$(RELEASE)/transfer_study --rows $(UOT_ROWS) --scales $(UOT_SCALE) --runs $(UOT_RUNS) --record $(UOT_STUDY)
	@[ "$(UOT_STUDY)" = bench/results/unit-of-transfer.jsonl ] || exit 0
	@$(PYTHON) -c 'import matplotlib' 2>/dev/null || \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	cd bench
	$(PYTHON) unit_of_transfer.py

# The documentation as HTML, in book/html; its examples are tested without mdBook.
book:
	@command -v mdbook >/dev/null || { echo "mdBook is needed: cargo install mdbook"; exit 1; }
	mdbook build book
	python3 book/pages.py book/html
	@echo "open book/html/index.html"

# The page of the server, from crates/ui/web into crates/ui/dist, which is committed: builds of the engine need no Node.
page:
	@command -v npm >/dev/null || { echo "Node 20.19 or newer is needed: see https://nodejs.org"; exit 1; }
	cd crates/ui/web
	npm ci --no-audit --no-fund
	npm run check
	npm run build
	npm run size

# The page in a headless Chromium, against a server with made-up data; PICTURES=1 draws docs/images anew.
test-page:
	@command -v chromium >/dev/null || {
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium
	}
	cd crates/ui/web
	[ -d node_modules ] || npm ci --no-audit --no-fund
	npm test

# Pages of the documentation that are made from the engine's own lists.
reference: wheel
	$(PYTHON) book/reference.py

clean:
	rm -rf dist book/html
	cargo clean
