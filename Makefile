# Every target does its own set-up: virtual environment, locked dependencies, a check for Java.
#   make fuzz     random MERGE cases on the PySpark merge against the reference (FUZZ="--max-time 600 --seed 7" to change)
#   make test     the tests, in three processes, which wait for Spark in turn (JOBS=4 to change)
#   make check    lint, types, import contract
#   make docs     the documentation, with a page of each rule, as a site in .site/; it opens without a server and a network

PYTHON ?= python3
UV_VERSION := 0.13.8
VENV := .venv
BIN := $(VENV)/bin
FUZZ ?= --max-cases 300
JOBS ?= 3

# Bytecode is kept, also if the environment forbids it: the tests start hundreds of interpreters, each of which would
# compile all that it imports. It is kept apart, because tests look at what is written beside a module.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

.PHONY: fuzz test check lint types imports format docs java setup clean

fuzz: setup java
	$(BIN)/mergecheck fuzz $(FUZZ)

test: $(VENV)/.spark
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal $(TEST)

check: lint types imports

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open .site/index.html"

setup: $(VENV)/.synced

# uv installs exactly what uv.lock says. Where it is not installed, a private copy is fetched as a Python package.
$(VENV)/.synced: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "mergecheck needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "Install a newer one and run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	@command -v uv >/dev/null 2>&1 || test -x .cache/uv/bin/uv || { \
	  $(PYTHON) -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet uv==$(UV_VERSION); }
	PATH="$(CURDIR)/.cache/uv/bin:$$PATH" UV_PROJECT_ENVIRONMENT=$(VENV) \
	  uv sync --frozen --group dev --no-python-downloads --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@touch $@

# Spark starts about a hundred times in the tests: the class archive, which takes a minute, halves each start.
$(VENV)/.spark: $(VENV)/.synced | java
	$(BIN)/mergecheck doctor --engine delta-spark --get
	@touch $@

java:
	@version=$$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'); \
	if [ -z "$$version" ] || [ "$$version" -lt 17 ]; then \
	  echo "Spark 4.2 needs Java 17 or newer on the PATH; found: $${version:-none}."; \
	  echo "Debian, Ubuntu: apt-get install openjdk-17-jre-headless    Fedora: dnf install java-17-openjdk-headless"; \
	  echo "macOS: brew install openjdk@17    conda: conda install -c conda-forge openjdk=17"; exit 3; \
	fi

clean:
	rm -rf $(VENV) .site .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
