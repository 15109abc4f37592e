# `make help` lists what there is. Everything works from a fresh checkout on Debian 12.
SHELL := /bin/bash
PRESET ?= release
BUILD := build/$(PRESET)
LAUNCHER := -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache
DATA_DIR ?= data
# So that a build in another checkout finds what this one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.DEFAULT_GOAL := help
.PHONY: help build run test test-asan test-tsan bench lint format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## berthd in build/release (PRESET=dev, asan, tsan for the others)
	@scripts/install-deps.sh build
	@cmake --preset $(PRESET) $(LAUNCHER) -DBERTH_TESTS=OFF >/dev/null
	@cmake --build --preset $(PRESET)

run: build ## build berthd and start it on the simulated cluster; prints what to try
	@scripts/run.sh $(BUILD)/berthd $(DATA_DIR)

test: ## all tests (PRESET=asan and PRESET=tsan run them under the sanitizers)
	@scripts/install-deps.sh test
	@cmake --preset $(TEST_PRESET) $(LAUNCHER) -DBERTH_TESTS=ON >/dev/null
	@cmake --build --preset $(TEST_PRESET)
	@ctest --preset $(TEST_PRESET) -j 2
test: TEST_PRESET = $(if $(filter release,$(PRESET)),dev,$(PRESET))

test-asan: ## the tests under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=asan

test-tsan: ## the tests under the thread sanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

bench: ## the benchmark: berthd beside the raw limits, as a table
	@scripts/install-deps.sh bench
	@tests/bench/run

lint: ## clang-format, clang-tidy and shellcheck
	@scripts/install-deps.sh lint
	@scripts/lint.sh

format: ## let clang-format rewrite the sources
	@scripts/install-deps.sh lint
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

clean: ## remove what was built
	@rm -rf build
