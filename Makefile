# Everything a person or the CI does here. Each environment is made once and kept in .venv; a second call is quick.
# PYTHON chooses the Python that makes it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# Compiled for this machine, in a build folder that is kept, so that only what changed is compiled again. With WERROR=ON,
# as in CI, warnings are errors.
BUILD := build/native
WERROR ?= OFF
NATIVE := --no-build-isolation --config-settings=build-dir=$(BUILD) \
          --config-settings=cmake.define.RELUFLOW_NATIVE=ON \
          --config-settings=cmake.define.RELUFLOW_WERROR=$(WERROR) \
          --config-settings=cmake.define.RELUFLOW_TESTS=ON
# make bench BENCH_OPTIONS=--resume goes on after Ctrl-C; --quick is a short one, into out/quick.
BENCH_OPTIONS ?=
# The matrices are small: threads of numpy's BLAS would wait for each other, which is half of the work of some tests.
export OPENBLAS_NUM_THREADS ?= 1
CPP := CMakeLists.txt $(wildcard cmake/*.cmake) $(shell find cpp -type f)
CPP_FORMATTED := $(filter %.cpp %.hpp,$(CPP))
PY := python tests tools docs bench examples

.PHONY: run reproduce test thorough fast torch browser mutants bench lint format types docs sanitize warnings wheel package lower-bounds clean
.DELETE_ON_ERROR:

run: $(STAMPS)/all ## one run of the command line: two digits, from a small start to a small loss
	$(BIN)/reluflow run --data digits:3,8 --width 50 --scale 1e-3 --until mean_loss=0.01 --out out/digits

reproduce: $(STAMPS)/all ## the figures, tables and theorems of the papers, each run and judged, in seconds each
	$(BIN)/reluflow reproduce all --quick --out out/papers

test: $(STAMPS)/dev ## every test, C++ and Python, but what only `make thorough` tries and `make browser` shows
	$(BIN)/cmake --build $(BUILD) --target cpp_tests
	$(BIN)/ctest --test-dir $(BUILD) --parallel 2 --output-on-failure
	$(BIN)/python -m pytest -m "not browser and not thorough" -n 2 --dist loadscope --durations=10

thorough: $(STAMPS)/dev ## the Python tests once more with those that try more of the same: about as long again
	$(BIN)/python -m pytest -m "not browser" -n 2 --dist loadscope --durations=10

fast: $(STAMPS)/dev ## the tests that take a second or less
	$(BIN)/python -m pytest

browser: docs ## the explorer and the pages of the docs in Chromium, at the widths of a desk and of a phone
	bash tools/install_browser
	$(BIN)/python -m pytest -m browser tests/browser

mutants: $(STAMPS)/dev ## whether the tests notice each bound loosened and each tolerance changed a thousandfold: half an hour in all
	$(BIN)/cmake --build $(BUILD) --target cpp_tests
	$(BIN)/python tools/mutate_bounds --build $(BUILD) --ninja $(BIN)/ninja
	BIN=$(BIN) $(BIN)/python tools/mutate_tolerances

torch: $(STAMPS)/dev $(STAMPS)/torch ## the tests that need torch
	$(BIN)/python -c "import torch"
	$(BIN)/python -m pytest tests/test_torch.py tests/test_papers_digits.py

bench: $(STAMPS)/bench $(STAMPS)/torch ## the benchmarks, each answer checked before it is timed; writes docs/benchmarks.md
	mkdir -p out
	$(BIN)/python -m pytest -q bench/test_speed.py --benchmark-timer=time.process_time --benchmark-json=out/speed.json
	$(BIN)/python bench/against.py $(BENCH_OPTIONS)

lint: $(STAMPS)/dev ## layout and style of Python and C++
	$(BIN)/ruff check $(PY)
	$(BIN)/ruff format --check $(PY)
	$(BIN)/clang-format --dry-run --Werror $(CPP_FORMATTED)

format: $(STAMPS)/dev ## put layout right
	$(BIN)/ruff check --fix-only $(PY)
	$(BIN)/ruff format $(PY)
	$(BIN)/clang-format -i $(CPP_FORMATTED)

types: $(STAMPS)/dev ## mypy --strict
	$(BIN)/mypy

docs: $(STAMPS)/dev ## the HTML in docs/_build/html; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

warnings: $(STAMPS)/build ## the portable build with warnings as errors
	$(call configure,build/warnings,-D RELUFLOW_WERROR=ON -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
	$(BIN)/cmake --build build/warnings --target all cpp_tests
	$(BIN)/ctest --test-dir build/warnings --parallel 2 --output-on-failure

sanitize: $(STAMPS)/dev ## C++ tests and the core's Python tests under the address and undefined-behaviour sanitizers
	$(call configure,build/sanitize,-D RELUFLOW_SANITIZE=ON -D RELUFLOW_WERROR=ON)
	$(BIN)/cmake --build build/sanitize --target all cpp_tests
	$(BIN)/ctest --test-dir build/sanitize --parallel 2 --output-on-failure
	BIN=$(BIN) bash tools/pytest_sanitized build/sanitize

wheel: $(STAMPS)/build ## a wheel as users get it, installed alone and tried
	BIN=$(BIN) bash tools/try_wheel

package: $(STAMPS)/dev ## the same of what is already compiled for this machine, in seconds
	PATH="$(CURDIR)/$(BIN):$$PATH" BIN=$(BIN) bash tools/try_wheel $(NATIVE)

lower-bounds: ## the fast tests with every runtime dependency at its lower bound
	PYTHON=$(PYTHON) bash tools/try_lower_bounds

clean: ## remove what the commands above made
	rm -rf $(VENV) build dist out docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

# configure(folder, definitions): a plain CMake build against the Python of the environment
define configure
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake -S . -B $(1) -G Ninja -D Python_EXECUTABLE="$(CURDIR)/$(BIN)/python" \
	  -D pybind11_DIR="$$($(BIN)/python -m pybind11 --cmakedir)" -D RELUFLOW_TESTS=ON $(2)
endef

$(STAMPS)/build: pyproject.toml tools/requirements.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	$(BIN)/python tools/requirements.py build > $(STAMPS)/build-requirements.txt
	$(PIP) cmake -r $(STAMPS)/build-requirements.txt
	touch $@

# Without torch the benchmarks leave out one peer and say so.
$(STAMPS)/torch: $(STAMPS)/build tools/install_torch
	PIP="$(PIP)" bash tools/install_torch || echo "torch is not installed: the benchmarks go on without torchdiffeq"
	touch $@

$(STAMPS)/all $(STAMPS)/bench $(STAMPS)/dev: $(STAMPS)/%: $(CPP) $(STAMPS)/build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) $(NATIVE) --editable ".[$*]"
	touch $@
