# Each target sets up .venv by itself: all it needs is Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# one more than there are cores: tests that wait for brokers and other processes leave theirs to the others
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: help demo test thorough check bench eval lock peers docs coverage clean

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Forewatch needs Python 3.11 or newer; $(PYTHON) is older. Say make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: $(STAMP)   ## play the sample household: embedded log, no network
	$(BIN)/forewatch demo $(DEMO)

test: $(STAMP)   ## the whole suite, on all cores (TESTS="-n 0 tests/unit" for a part, one by one)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

thorough: $(STAMP) ## the longest tests at full width: 200 kills on Kafka, 5,000 hostile inputs each, whole years (hours)
	FOREWATCH_THOROUGH=1 $(BIN)/python -m pytest -o timeout=4000 tests/acceptance/test_kill.py \
	    tests/acceptance/test_zones.py tests/unit/extractors/test_mail_fuzz.py tests/unit/extractors/test_ics_fuzz.py \
	    tests/unit/extractors/test_bankfile_fuzz.py tests/integration/test_jmap_cyrus.py tests/integration/test_agentdojo.py \
	    tests/unit/rules/test_window_reference.py tests/unit/rules/test_metamorphic.py tests/unit/rules/test_hostile.py \
	    tests/unit/rules/test_any_rule_file.py tests/unit/rules/test_changeover.py tests/unit/rules/test_replay.py \
	    tests/unit/rules/test_sequence.py tests/unit/actions/test_crashes.py tests/unit/actions/test_tool_crashes.py \
	    tests/unit/actions/test_interleavings.py $(TESTS)

check: $(STAMP)  ## what CI runs before the suite, cheapest first
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

bench: $(STAMP)  ## ratios against peers, in one run (BENCH="rules anomalies" for a part); fetches the peers once
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks $(BENCH)

eval: $(STAMP)   ## recall, precision and interruptions over ten seeds
	$(BIN)/python -m benchmarks.evaluation $(SEEDS)

peers: $(STAMP)  ## fetch the test peers that this machine can have (Apache Kafka)
	$(BIN)/python -m tests.peers $(PEERS)

lock:            ## resolve the lock files again (universal, hashes, no addresses)
	$(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header \
	    --group pyproject.toml:dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	    -c requirements.lock benchmarks/peers.in -o benchmarks/peers.lock

clean:           ## remove what the targets made
	rm -rf $(VENV) .peers .mypy_cache .ruff_cache .pytest_cache .hypothesis htmlcov .coverage*

docs: $(STAMP)   ## write the generated reference pages again
	$(BIN)/python -m forewatch.reference docs/reference

coverage: $(STAMP) ## the suite with branch coverage
	$(BIN)/python -m coverage run -m pytest $(TESTS)
	$(BIN)/python -m coverage report
