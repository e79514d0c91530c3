# The front door. `make run` and `make test` do everything; the rest are their parts.

JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
export JOBS
ARGS ?= --data data/mnist

.PHONY: build run test soak bench bench-check mutants noops fuzz coverage sanitize valgrind cross docs format-check lint exports oracle interop agreement keras-conformance clean

build: ## set up .venv and build: .venv/bin/mica and .venv/bin/python are then ready
	@scripts/build.sh product

run: ## train a convolutional net on MNIST in C and again in Python; compare the loss curves
	@scripts/run.sh $(ARGS)

test: ## all tests
	@scripts/check.sh all

soak: ## the tests that take long
	@scripts/check.sh soak

bench: ## Mica beside TensorFlow, PyTorch and JAX, which are installed into .bench (CASES="softmax gpt_train")
	@scripts/build.sh product
	@.venv/bin/python bench/run.py $(CASES)

bench-check: ## the same, and fails when a case misses its bar and docs/performance.md does not say why
	@scripts/build.sh product
	@.venv/bin/python bench/run.py --check $(CASES)

mutants: ## the op harness catches faults: 200 are put in, one at a time (SEED=n chooses others)
	@scripts/build.sh product
	@scripts/setup.sh --test
	scripts/mutants.py --seed $(or $(SEED),0)

noops: ## mlcompute's tests notice when members do nothing: 40 are taken away, one at a time
	@scripts/build.sh product
	@scripts/setup.sh --test
	.venv/bin/python scripts/mlcompute_noops.py --count $(or $(COUNT),40) $(if $(SEED),--seed $(SEED))

fuzz: ## readers of files, given bytes of libFuzzer's for FUZZ_SECONDS (60) each (READERS="bundle wire" for some)
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) scripts/fuzz_readers.sh $(READERS)

coverage: ## lines and branches of src/ that the C tests and the Python tests run, by room
	@scripts/coverage.sh

sanitize: ## the C tests under AddressSanitizer + UBSan, and under ThreadSanitizer
	@scripts/check.sh address thread

valgrind: ## nothing is lost after mica_shutdown
	@scripts/check.sh valgrind

cross: ## build for arm64 Linux and macOS with ziglang; run under qemu where present
	@scripts/check.sh cross

docs: ## the site of docs/ in build/site; a link that leads nowhere is an error
	@scripts/docs.sh

format-check: ## clang-format and ruff have nothing to say
	@scripts/check.sh format

exports: ## write src/exports.txt anew from the built library
	@scripts/build.sh mica
	@scripts/exports.sh build > src/exports.txt

oracle: ## make the golden of the tests anew with other frameworks, in environments of their own
	@scripts/oracle.sh

interop: ## exchange files with TensorFlow and TensorBoard, both ways (PICTURE=1: their page in docs/)
	@scripts/build.sh product
	@scripts/interop.sh $(if $(PICTURE),--picture)

agreement: ## stored random calls beside TensorFlow's answers; fails under 99 % (MATCH=softmax for a part)
	@scripts/build.sh product
	@.venv/bin/python tests/agreement/report.py --jobs $(JOBS) $(if $(MATCH),--match $(MATCH))

keras-conformance: ## Keras' own tests over mica.tf, beside what passes on TensorFlow (PARTS="ops/ layers/core" for some)
	@scripts/build.sh product
	@scripts/keras_conformance.sh $(PARTS)

clean: ## everything that was built; .venv stays
	rm -rf build build-* dist .pytest_cache .ruff_cache .hypothesis mnist_loss.png
