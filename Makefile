# `make help` lists the targets. Everything works from a fresh checkout on Debian 12.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
LAUNCHER := -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache
DATA_DIR ?= data

.DEFAULT_GOAL := help
.PHONY: help build run client client-arm64 test test-asan test-tsan simulate metering adversarial attack failover fuzz bench bench-points bench-oauth bench-engines bench-console lighthouse bench-history figures reference lint lint-changed format clean cluster cluster-down run-on-cluster e2e scale image deb test-deb yaml local-full

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## berthd and the client berth in build/release (PRESET=dev, asan, tsan for the others)
	@scripts/install-deps.sh build
	@cmake --preset $(PRESET) $(LAUNCHER) -DBERTH_TESTS=OFF -DBERTH_BENCH=OFF >/dev/null
	@cmake --build --preset $(PRESET)
	@scripts/check-hardening.sh $(if $(filter release,$(PRESET)),,--no-fortify) $(BUILD)/berthd $(BUILD)/berth

run: build ## build berthd and start it, with podman's containers or on the simulated cluster; prints its address
	@scripts/install-deps.sh run
	@[ $(BUILD)/client -nt $(BUILD)/berth ] || scripts/client.sh $(BUILD)/berth $(BUILD)/client || echo "the client couldn't be packed, so berthd doesn't offer it"
	@scripts/run.sh $(BUILD)/berthd $(DATA_DIR)

client: build ## the client for any Linux of this machine's kind, in build/release/client (key client-files)
	@scripts/client.sh $(BUILD)/berth $(BUILD)/client

client-arm64: client ## the client for Linux on arm64, built on another kind of machine, in build/release/client
	@scripts/install-deps.sh arm64
	@scripts/client-arm64.sh $(BUILD)/client

test: ## all tests (PRESET=asan and PRESET=tsan run them under the sanitizers)
	@scripts/install-deps.sh test
	@cmake --preset $(TEST_PRESET) $(LAUNCHER) -DBERTH_TESTS=ON -DBERTH_BENCH=ON >/dev/null
	@cmake --build --preset $(TEST_PRESET)
	@scripts/test.sh $(TEST_PRESET) $(ATTEMPTS) $(SECOND_ENGINE)
# How often a test may be tried. A test that fails, and then passes, is named at the end.
test: ATTEMPTS ?= 1
# `if-changed` runs the tests on PostgreSQL in full only if SQL or an engine has changed (tests/postgres/changed.py).
test: SECOND_ENGINE ?= always
test: TEST_PRESET = $(if $(filter release,$(PRESET)),dev,$(PRESET))

test-asan: ## the tests under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=asan

test-tsan: ## the tests under the thread sanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

image: ## a container image of berthd with buildah, after security updates; pushed to the test cluster's registry where that is up
	@scripts/install-deps.sh image
	@scripts/check-updates.sh --install $$(scripts/install-deps.sh image --list)
	@$(MAKE) --no-print-directory build
	@scripts/image.sh $(BUILD)/berthd $(IMAGE)

deb: ## Debian packages of berthd and of the client alone, in build/release/packages
	@scripts/install-deps.sh deb
	@$(MAKE) --no-print-directory build
	@cmake --build --preset $(PRESET) --target package_files
	@rm -rf $(BUILD)/packages
	@cd $(BUILD) && cpack -G DEB >cpack.log || { cat cpack.log; exit 1; }
	@ls $(BUILD)/packages/*.deb

test-deb: deb ## install those packages into a clean Debian, and upgrade, remove and purge them there; needs root, or sudo
	@tests/packages/run $(BUILD)/packages

yaml: ## the chart as plain YAML on standard output, for clusters without Helm (VALUES=FILE; charts/berth/README.md)
	@scripts/yaml.sh $(VALUES)

cluster: ## a real single-node Kubernetes on this machine (the first time some 15 minutes); prints how to use it
	@tests/kube/cluster build
	@tests/kube/cluster up

cluster-down: ## stop it
	@tests/kube/cluster down

run-on-cluster: build cluster ## build berthd and start it on that Kubernetes; prints its address
	@tests/kube/run-berthd $(BUILD)/berthd $(DATA_DIR)/cluster

local-full: ## all tests on one machine with podman and Caddy, and the benchmark that compares it with others, as a table; needs root
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory build
	@BERTHD=$(abspath $(BUILD)/berthd) tests/local/e2e --full
	@tests/bench/local $(BUILD)/berthd

# It runs the programs of `make test`, so that both need one build.
e2e: ## the end-to-end test on that Kubernetes, which is left up or down as it was
	@scripts/install-deps.sh test
	@cmake --preset dev $(LAUNCHER) -DBERTH_TESTS=ON -DBERTH_BENCH=ON >/dev/null
	@cmake --build --preset dev --target berthd berth bench_apply test_kube_client test_reconcilers
	@BERTHD=$(abspath build/dev/berthd) tests/kube/run-e2e

scale: cluster ## 1,000 deployments on that Kubernetes beside a bare client of it, as a table
	@scripts/install-deps.sh build
	@cmake --preset release $(LAUNCHER) -DBERTH_BENCH=ON >/dev/null
	@cmake --build --preset release --target berthd bench_apply
	@tests/kube/scale

simulate: ## the economy of points from seeds against a model (SEED=1 SEEDS=10000 STEPS=1000 STORE=postgres; a failing seed is printed)
	@scripts/install-deps.sh test
	@cmake --preset release $(LAUNCHER) -DBERTH_TESTS=ON >/dev/null
	@cmake --build --preset release --target simulate
	@$(if $(filter postgres,$(STORE)),tests/postgres/run) build/release/simulate --seed $(or $(SEED),1) --seeds $(or $(SEEDS),$(if $(SEED),1,10000)) --steps $(or $(STEPS),1000)

metering: ## what 1,000 metered deployments are charged against what ran, while berthd is killed 300 times, an hour (DEPLOYMENTS=… KILLS=… CAPS=… SEED=…)
	@scripts/install-deps.sh test
	@cmake --preset release $(LAUNCHER) -DBERTH_TESTS=ON >/dev/null
	@cmake --build --preset release --target berthd metering_cluster
	@tests/metering/run --deployments $(or $(DEPLOYMENTS),1000) --kills $(or $(KILLS),300) --caps $(or $(CAPS),100) $(if $(SEED),--seed $(SEED)) build/release/berthd build/release/metering_cluster

adversarial: build ## what the most expensive bodies cost each operation: 50 ms of CPU and 20 MB at most
	@tests/operations/adversarial $(BUILD)/berthd

attack: build ## ten minutes of requests by which strangers try to stop berthd: 300 MB of memory and a second for /health at most
	@tests/bench/attack $(BUILD)/berthd
	@tests/bench/attack_disk --seconds 600 $(BUILD)/berthd

failover: build ## check whether an answered write is lost while nodes of PostgreSQL under Patroni die (ROUNDS=50, an hour; SEED=…, ONLY="primary dies", KEEP=FOLDER for logs)
	@scripts/install-deps.sh failover
	@tests/failover/run --rounds $(or $(ROUNDS),50) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only "$(ONLY)") $(if $(KEEP),--keep $(KEEP)) $(BUILD)/berthd

fuzz: ## the fuzz targets under libFuzzer, each for FUZZ_SECONDS=60; TARGETS="body request" for some of them
	@scripts/install-deps.sh fuzz
	@cmake --preset fuzz $(LAUNCHER) >/dev/null
	@cmake --build --preset fuzz $(if $(TARGETS),--target $(addprefix fuzz_,$(TARGETS)))
	@scripts/fuzz.sh $(TARGETS)

bench: ## the benchmark: berthd beside the raw limits, as a table
	@scripts/install-deps.sh bench
	@tests/bench/run

bench-points: ## spends of points beside bare SQLite and PostgreSQL, as a table
	@scripts/install-deps.sh bench-oauth
	@tests/bench/points

bench-oauth: ## the authorization server beside Ory Hydra and node-oidc-provider, as a table
	@scripts/install-deps.sh bench-oauth
	@tests/bench/oauth

bench-engines: ## berthd on SQLite, and one and three of them on PostgreSQL, beside Ory Hydra (and Blnk: BLNK=PROGRAM), as a table
	@scripts/install-deps.sh bench-oauth
	@tests/bench/engines $(if $(BLNK),--blnk $(BLNK))

bench-console: build ## what the console costs a browser: frames, heap, Lighthouse
	@scripts/install-deps.sh test
	@tests/pages/bench $(BUILD)/berthd $(BUILD)/console_bench

lighthouse: build ## what Lighthouse says of the start page, the login and the console; below 95 is a failure
	@scripts/install-deps.sh test
	@tests/pages/bench $(BUILD)/berthd $(BUILD)/console_bench lighthouse.mjs

bench-history: ## what the history of 1,000 deployments' usage costs, and what the ledger's commits feel of it
	@scripts/install-deps.sh bench
	@cmake --preset release $(LAUNCHER) -DBERTH_BENCH=ON >/dev/null
	@cmake --build --preset release --target bench_usage_history
	@build/release/bench_usage_history build/release

figures: ## all benchmarks, their tables and plots written to docs/performance.md; takes hours (NAMES="http points" for some of them)
	@scripts/install-deps.sh bench-oauth
	@cmake --preset release $(LAUNCHER) -DBERTH_BENCH=ON >/dev/null
	@cmake --build --preset release
	@tests/bench/figures $(NAMES)

reference: build ## write the pages of docs/reference that the programs make
	@scripts/install-deps.sh test
	@scripts/reference $(BUILD)/berthd $(BUILD)/berth

lint: ## clang-format, clang-tidy, shellcheck, and the checks of includes and of words, over the whole tree
	@scripts/install-deps.sh lint
	@scripts/lint.sh

lint-changed: ## the same, with clang-tidy on what differs from main, for two minutes at most (BASE=COMMIT)
	@scripts/install-deps.sh lint
	@scripts/lint.sh --changed

format: ## let clang-format rewrite the sources, and Prettier those of the console
	@scripts/install-deps.sh lint
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i
	@cd console && { [ -x node_modules/.bin/prettier ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; } && npm run --silent format

clean: ## remove what was built
	@rm -rf build
