# make demo        compile monitors for the shipped digits model and bench them (under three minutes)
# make test        the whole test suite, linters and type checks included
# make test-keras  the tests that need TensorFlow, which `make test` skips: they take minutes, and
#                  their environment 2.5 GB
# make test-targets  the demonstration, ResNet8 with every monitor, GTSRB and two tabular models on every
#                  target's emulator: one hash of results for each (some ten minutes)
# make docs        the site, in out/site; a broken link or an unknown command fails
# make wheels      manylinux wheels for x86-64 and aarch64, in out/wheels (docs/wheels.md)
# make coverage    how much of the C runtime its tests reach, under sanitizers
# make same-artifacts BEFORE=COMMIT  do that version and this one compile the same bytes?
# make format      format Python and C
# make clean       remove everything that make made
#
# Every target does its own set-up, in virtual environments below .venv/.

PYTHON ?= python3
SHELL := /bin/bash -o pipefail
ENVS := .venv
DEMO := $(ENVS)/demo
DEV := $(ENVS)/dev
KERAS := $(ENVS)/keras
# The oldest Keras that pyproject.toml permits, in front of the one in $(KERAS).
OLDEST := $(shell sed -n 's/.*"keras>=\([0-9.]*\)".*/\1/p' pyproject.toml)
KERAS_OLDEST := $(ENVS)/keras-$(OLDEST)
# The two environments of a device: each with NumPy, one interpreter, and nothing else.
LITERT := $(ENVS)/device-litert
TFLITE_RUNTIME := $(ENVS)/device-tflite-runtime
SOURCES := $(shell find compiler runtime targets bench -type f -not -path '*/__pycache__/*' -not -name '*.so') pyproject.toml README.md
C_SOURCES := $(shell find runtime targets bench tests -name '*.c' -o -name '*.h' -o -name '*.hpp' -o -name '*.cpp')
PACKAGES := edgemon.runtime edgemon.targets edgemon.compiler edgemon.bench
OUT := out
CROSS := aarch64-linux-gnu
JOBS ?= 2
# A worker of the tests a core: threads of linear algebra would wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test test-keras test-targets coverage same-artifacts docs wheels lint types unit devices system format clean

demo: $(DEMO)/installed
	mkdir -p $(OUT)
	$(DEMO)/bin/edgemon compile bench/demo/digits_int8.tflite --data bench/demo/digits.npz \
	  --expect-accuracy 0.85 --target host-x86_64-builtin --out $(OUT)/digits --force
	$(DEMO)/bin/edgemon run $(OUT)/digits --data 'bench/demo/novelty.npz[0:5]'
	$(DEMO)/bin/edgemon bench $(OUT)/digits --data bench/demo/digits.npz

test: system lint types unit

lint: $(DEV)/installed
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/clang-format --dry-run --Werror --style=file:runtime/c/.clang-format $(C_SOURCES)

types: $(DEV)/installed
	$(DEV)/bin/mypy $(PACKAGES:%=-p %)
	$(DEV)/bin/mypy docs/site/*.py

unit: $(DEV)/installed devices
	EDGEMON_DEVICE_PYTHONS=$(abspath $(LITERT)/bin/python):$(abspath $(TFLITE_RUNTIME)/bin/python) \
	  $(ONE_THREAD) $(DEV)/bin/python -m pytest -n $(JOBS) --dist loadgroup -rs

test-keras: $(KERAS)/installed $(KERAS_OLDEST)
	$(KERAS)/bin/python -m pytest -rs tests/compiler/models/test_keras*.py \
	  tests/compiler/models/test_front_ends.py tests/compiler/models/test_saved_model.py \
	  tests/compiler/faults/test_attacks_on_keras.py tests/bench/alocc \
	  tests/compiler/gradient/test_against_keras.py
	PYTHONPATH=$(abspath $(KERAS_OLDEST)) $(KERAS)/bin/python -m pytest -rs \
	  tests/compiler/models/test_keras_code.py

test-targets: system $(DEV)/installed
	EDGEMON_ALL_TARGETS=1 $(ONE_THREAD) $(DEV)/bin/python -m pytest -n $(JOBS) --dist loadgroup -rs tests/targets tests/test_target_command.py tests/runtime/test_bench_program.py

coverage: system $(DEV)/installed
	$(DEV)/bin/python -m tests.runtime.c_coverage

same-artifacts: $(DEV)/installed $(ENVS)/at-$(BEFORE)/installed
	$(DEV)/bin/python -m tests.same_artifacts $(abspath $(ENVS)/at-$(BEFORE))

docs: $(DEV)/installed
	EDGEMON_EXECUTE_NOTEBOOKS=1 $(ONE_THREAD) NO_MKDOCS_2_WARNING=1 $(DEV)/bin/python -m mkdocs build --strict --quiet --site-dir $(OUT)/site

# A cross compiler is enough for the other architecture: the extension uses Python's stable ABI.
wheels: $(DEV)/installed
	rm -rf build/wheels $(OUT)/wheels
	$(DEV)/bin/python -m build --no-isolation --wheel --outdir build/wheels .
	if command -v $(CROSS)-gcc >/dev/null; then \
	  _PYTHON_HOST_PLATFORM=linux-aarch64 CC=$(CROSS)-gcc \
	    CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64" \
	    $(DEV)/bin/python -m build --no-isolation --wheel --outdir build/wheels .; \
	else echo "$(CROSS)-gcc is not installed: no wheel for aarch64"; fi
	for wheel in build/wheels/*.whl; do \
	  PATH="$(abspath $(DEV))/bin:$$PATH" auditwheel repair --wheel-dir $(OUT)/wheels $$wheel || exit 1; done
	EDGEMON_WHEELS=$(abspath $(OUT)/wheels) $(DEV)/bin/python -m pytest -n 0 -rs tests/test_wheel.py

devices: $(LITERT)/installed $(TFLITE_RUNTIME)/installed

# Debian packages that fuzzing, coverage and builds for other machines need; without root those tests skip and say so.
system:
	@if ! command -v clang >/dev/null || ! command -v llvm-cov >/dev/null || ! ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer* >/dev/null 2>&1; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang llvm libclang-rt-14-dev >/dev/null; \
	  else echo "clang with libFuzzer and llvm-cov is not installed: fuzzing and coverage are skipped"; fi; \
	fi
	@if ! command -v qemu-arm >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v riscv64-linux-gnu-gcc >/dev/null || ! command -v arm-linux-gnueabihf-gcc >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      $(foreach arch,arm64 riscv64 armhf,libc6-dev-$(arch)-cross) qemu-user \
	      gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu gcc-arm-linux-gnueabihf >/dev/null; \
	  else echo "cross compilers and qemu-user are not installed: builds for other machines are skipped"; fi; \
	fi
	@if ! test -e /usr/include/nlohmann/json.hpp || ! command -v pkg-config >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      g++ nlohmann-json3-dev pkg-config >/dev/null; \
	  else echo "nlohmann-json3-dev or pkg-config is not installed: the pipeline's tests are skipped"; fi; \
	fi
	@if ! command -v qemu-system-arm >/dev/null || ! command -v arm-none-eabi-gcc >/dev/null || ! command -v s390x-linux-gnu-gcc >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-s390x-linux-gnu libc6-dev-s390x-cross >/dev/null; \
	  else echo "qemu-system-arm, arm-none-eabi-gcc or s390x-linux-gnu-gcc is not installed: targets are skipped (edgemon target list)"; fi; \
	fi
	@if ! command -v cppcheck >/dev/null || ! test -e /usr/include/sodium.h; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	      cppcheck libsodium-dev >/dev/null; \
	  else echo "cppcheck or libsodium-dev is not installed: MISRA's rules and the signature example are skipped"; fi; \
	fi

format: $(DEV)/installed
	$(DEV)/bin/ruff check --fix-only .
	$(DEV)/bin/ruff format .
	$(DEV)/bin/clang-format -i --style=file:runtime/c/.clang-format $(C_SOURCES)

clean:
	rm -rf $(ENVS) $(OUT) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(ENVS)/%/bin/python:
	$(PYTHON) -m venv $(@D)/..
	$@ -m pip install --quiet --upgrade pip

$(DEMO)/installed: $(DEMO)/bin/python $(SOURCES)
	$< -m pip install --quiet '.[compile]'
	@touch $@

$(DEV)/installed: $(DEV)/bin/python $(SOURCES)
	$< -m pip install --quiet '.[dev]'
	@touch $@

$(KERAS)/installed: $(KERAS)/bin/python $(SOURCES)
	$< -m pip install --quiet '.[dev,keras]'
	@touch $@

$(KERAS_OLDEST): $(KERAS)/installed
	$(KERAS)/bin/python -m pip install --quiet --no-deps --upgrade --target $@ keras==$(OLDEST)
	@touch $@

$(ENVS)/at-%/installed: $(DEV)/installed
	rm -rf $(@D) build/at-$* && mkdir -p build/at-$*
	git archive $* | tar -x -C build/at-$*
	$(DEV)/bin/python -m pip install --quiet --no-deps --target $(@D) ./build/at-$*
	rm -rf build/at-$*
	@touch $@

$(ENVS)/wheel: $(DEV)/installed
	rm -rf $@
	$(DEV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir $@ .
	@touch $@

$(LITERT)/installed: $(LITERT)/bin/python $(ENVS)/wheel
	$< -m pip install --quiet --force-reinstall --no-deps $(ENVS)/wheel/*.whl
	$< -m pip install --quiet 'edgemon[tflite]' --find-links $(ENVS)/wheel
	@touch $@

$(TFLITE_RUNTIME)/installed: $(TFLITE_RUNTIME)/bin/python $(ENVS)/wheel
	$< -m pip install --quiet --force-reinstall --no-deps $(ENVS)/wheel/*.whl
	$< -m pip install --quiet 'edgemon[tflite-runtime]' --find-links $(ENVS)/wheel
	@touch $@

.PRECIOUS: $(ENVS)/%/bin/python
