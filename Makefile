# make demo: see it work. make test: prove it. make help: the rest.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
export DOCKER := $(shell [ -x /usr/bin/docker ] && echo /usr/bin/docker || echo docker)
unexport PYTHONDONTWRITEBYTECODE # with it every process would compile all that it imports: seconds, thousands of times
APT := $(SUDO) flock /var/lock/sandbox-gym-apt env DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: help venv demo demo-agents demo-agents-mini demo-agents-gym docs docs-serve tools test-deps images-without-python ready lint house test test-all test-browser test-agents test-gym test-train test-cluster test-swe images smoke bench bench-more bench-cluster profile clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 18

$(BIN)/sandbox-gym: pyproject.toml
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(APT) update -q && $(APT) install -qy python3-venv; }
	$(PYTHON) -m venv $(VENV)
	tests/install.sh $(BIN)/python -e '.[dev,docs]'
	@touch $@

venv: $(BIN)/sandbox-gym ## the development environment

demo: venv ## eight answers and hacks, judged in local sandboxes and by a naive grader, side by side
	@command -v bwrap >/dev/null || { $(APT) update -q && $(APT) install -qy bubblewrap; }
	@$(BIN)/python examples/demo/run.py
	@echo
	@echo "Next:"
	@echo "  $(BIN)/sandbox-gym serve coding          # the same behind POST /verify on 127.0.0.1:8080"
	@echo "  $(BIN)/sandbox-gym doctor                # what else works on this machine"
	@echo "  make docs                                   # the book, in site/"

demo-agents: venv ## ten SWE instances, eight agents at once, a scripted model, what a step costs; CHAOS=5 kills sandboxes
	@command -v bwrap >/dev/null || { $(APT) update -q && $(APT) install -qy bubblewrap; }
	@command -v git >/dev/null || { $(APT) update -q && $(APT) install -qy git; }
	@$(BIN)/python -m examples.agents plain $(AGENT_OPTIONS)

demo-agents-mini: venv ## the same with mini-swe-agent, in an environment of its own (PyPI)
	@[ -x .venv-mini/bin/mini ] || { $(PYTHON) -m venv .venv-mini && \
	  .venv-mini/bin/pip install -q --disable-pip-version-check -e . 'httpx2>=2' 'mini-swe-agent>=2.4' mcp; }
	@$(BIN)/python -m examples.agents mini-swe-agent --python .venv-mini/bin/python $(AGENT_OPTIONS)

demo-agents-gym: venv ## the same with NeMo Gym's commands and its simple_agent (PyPI, Python 3.12; minutes)
	@[ -x .venv-gym/bin/ng_run ] || { $(GYM_PYTHON) -m venv .venv-gym && \
	  .venv-gym/bin/pip install -q --disable-pip-version-check nemo-gym==0.4.0 numpy==2.2.6 uv; }
	@$(BIN)/python -m examples.agents nemo-gym --python .venv-gym/bin/python $(AGENT_OPTIONS)

AGENT_OPTIONS = $(if $(CHAOS),--chaos $(CHAOS)) $(if $(ROWS),--rows $(ROWS)) $(if $(PROVIDER),--provider $(PROVIDER))

docs: venv ## the book of docs/ in site/, its reference generated from the code
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

docs-serve: docs ## the same at http://127.0.0.1:8000, built anew when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --dev-addr 127.0.0.1:8000

tools: # what boxes and images are made with
	@missing=; for t in bwrap:bubblewrap dockerd:docker.io mmdebstrap:mmdebstrap docker-compose:docker-compose npm:npm zsh:zsh fish:fish chromium:chromium lua5.4:lua5.4 php:php-cli; do \
	  command -v $${t%%:*} >/dev/null || missing="$$missing $${t##*:}"; done; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	for package in python3-ipython $$(grep -hv '^#' images/python/packages.txt images/polyglot/packages.txt images/swe/packages.txt); do \
	  dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ]; then $(APT) update -q && $(APT) install -qy --no-install-recommends $$missing; fi

	@command -v docker-registry >/dev/null || [ -x .run/docker-registry/usr/bin/docker-registry ] || { mkdir -p .run && cd .run && \
	  apt-get download -qq docker-registry && dpkg-deb -x docker-registry_*.deb docker-registry && rm docker-registry_*.deb; } # not its service
	@command -v nginx >/dev/null || [ -x .run/nginx/usr/sbin/nginx ] || { mkdir -p .run && cd .run && \
	  apt-get download -qq nginx && dpkg-deb -x nginx_*.deb nginx && rm nginx_*.deb; } # its program, not its service
	@command -v promtool >/dev/null || [ -x .run/prometheus/usr/bin/promtool ] || { mkdir -p .run && cd .run && \
	  apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb prometheus && rm prometheus_*.deb; } # its tools, not its daemon

test-deps: venv tools images-without-python
	@$(BIN)/python -c 'from importlib.metadata import version; version("swebench")' 2>/dev/null || \
	  tests/install.sh $(BIN)/python --no-deps swebench==5.0.2
	@PYTHON=$(BIN)/python tests/with-docker.sh images/build.sh swe

images-without-python: tools # those whose build does not ask for the environment, which can be made beside it
	@tests/with-docker.sh images/build.sh base guest python polyglot math $(MORE_IMAGES)

images: tools ## build sandbox-gym/base, /guest, /python, /polyglot, /math, /swe and /server
	@PYTHON=$(BIN)/python tests/with-docker.sh images/build.sh base guest python polyglot math swe server

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.house

house: venv tools ## the structure's figures, and what a coding, an SWE and a tool request pass (PyPI; a minute)
	$(BIN)/python -m tools.house
	$(BIN)/python -m tools.house follow --check

test: ready ## install what tests need, lint, run the daily part of every suite
	tests/with-docker.sh bash -c "$(SUITE)"

test-all: ready ## the same, every suite whole and on every provider
	tests/with-docker.sh bash -c "$(SUITE) --extended"

SUITE := BESIDE=images/compose-smoke.sh tests/with-postgres.sh tests/in-parallel.sh $(BIN)/python -m pytest

ready: # images, the environment and the linters wait for the network as often as for a core
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target test-deps lint docs MORE_IMAGES=server

test-browser: venv ## the dashboard in a real Chromium, with axe from npm
	@missing=; for t in bwrap:bubblewrap npm:npm chromium:chromium; do \
	  command -v $${t%%:*} >/dev/null || missing="$$missing $${t##*:}"; done; \
	if [ -n "$$missing" ]; then $(APT) update -q && $(APT) install -qy --no-install-recommends $$missing fonts-dejavu-core; fi
	$(BIN)/python -m pytest -m browser tests/browser

test-agents: test-deps ## mini-swe-agent, inspect_ai and SWE-ReX on our sandboxes, against their packages
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev,agents]'
	$(BIN)/mypy
	tests/with-docker.sh $(BIN)/python -m pytest tests/agents

# NeMo Gym needs Python 3.12: the first that starts, of the path or of pyenv's versions (its shim may name one and not start)
GYM_PYTHONS := python3.12 $(sort $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.12.*/bin/python3.12))
GYM_PYTHON ?= $(or $(firstword $(foreach one,$(GYM_PYTHONS),$(shell $(one) -c '' 2>/dev/null && echo $(one)))),python3.12)
test-gym: tools ## the real NeMo Gym, NeMo Evaluator and verl's reward against this tree (Python 3.12, PyPI; minutes)
	$(GYM_PYTHON) -m venv .venv-gym
	.venv-gym/bin/pip install -q --disable-pip-version-check -e '.[gym,math]' nemo-gym==0.4.0 uv hatchling httpx2 pytest pytest-timeout
	.venv-gym/bin/pip install -q --disable-pip-version-check --no-deps verl==0.9.1
	$(GYM_PYTHON) -m venv .venv-nel
	.venv-nel/bin/pip install -q --disable-pip-version-check 'nemo-evaluator[stats]==0.3.0'
	.venv-gym/bin/python -m pytest -s tests/gym

TRAIN := .venv-train/bin
$(TRAIN)/python: examples/train/requirements.txt
	$(PYTHON) -m venv .venv-train
	$(TRAIN)/pip install -q --disable-pip-version-check -r examples/train/requirements.txt
	$(TRAIN)/pip install -q --disable-pip-version-check -e . pytest pytest-timeout inspect-ai==0.3.285 verifiers==0.4.0
	$(TRAIN)/pip install -q --disable-pip-version-check --no-deps openrlhf==0.11.2 verl==0.9.1
	$(TRAIN)/pip install -q --disable-pip-version-check codetiming hydra-core orjson pandas peft pylatexenc ray tensordict torchdata # what these two import
	@touch $@

test-train: tools $(TRAIN)/python ## TRL, verl, OpenRLHF, verifiers and inspect_ai with our rewards, and two training runs on the CPU (PyPI; half an hour)
	$(TRAIN)/python -m pytest -s tests/train

CLUSTER := .venv-cluster/bin/python
$(CLUSTER): pyproject.toml
	$(PYTHON) -m venv .venv-cluster
	.venv-cluster/bin/pip install -q --disable-pip-version-check -e '.[ray]' 'ray[default]' httpx2 pytest pytest-timeout
	@touch $@

test-cluster: tools $(CLUSTER) ## real Ray clusters of several raylets, which are killed, stopped and drained (PyPI; minutes)
	$(CLUSTER) -m pytest -s tests/cluster

bench-cluster: tools $(CLUSTER) ## what a cluster costs and gives, on real raylets and simulated to 1,000 nodes
	$(CLUSTER) benchmarks/cluster.py
	$(CLUSTER) benchmarks/cluster_sim.py

test-swe: test-deps ## 22 real projects built on local, docker and a pool, and swebench's grading beside ours; minutes
	PYTHON=$(BIN)/python SWE_PYTHONS="3.8 3.9 3.10 3.12 3.13" tests/with-docker.sh images/build.sh swe # what the rows ask of a pool
	[ -x .run/swebench/bin/python ] || $(PYTHON) -m venv .run/swebench
	.run/swebench/bin/pip install -q --disable-pip-version-check swebench==5.0.2
	SANDBOX_GYM_TEST_SWEBENCH=$(CURDIR)/.run/swebench/bin/python \
	  tests/with-docker.sh $(BIN)/python -m pytest -m swe_full --extended tests/swe_full

smoke: test-deps ## docker compose up, one right and one wrong answer, down again
	tests/with-docker.sh bash -c "images/build.sh server && images/compose-smoke.sh && images/compose-smoke.sh remote"

bench: test-deps ## ours beside its peers on the same work, in one run: benchmarks/results, the table of docs/design/performance.md; 20 minutes
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev,bench]'
	[ -x .venv-gym/bin/python ] || $(GYM_PYTHON) -m venv .venv-gym
	.venv-gym/bin/python -c 'import nemo_gym, numpy' 2>/dev/null || \
	  .venv-gym/bin/pip install -q --disable-pip-version-check nemo-gym==0.4.0 numpy==2.2.6
	tests/with-docker.sh $(BIN)/python -m benchmarks.side_by_side --readme docs/design/performance.md

profile: test-deps ## flame graphs of a server, a supervisor and its programs under load
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python -m benchmarks.profiles

bench-more: test-deps ## each part by itself: providers, math, SWE, pools, the journal
	tests/with-docker.sh $(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/math_answers.py
	tests/with-docker.sh $(BIN)/python benchmarks/swe.py $${SANDBOX_GYM_TEST_DATA:-../shared/data}/swe_instances.jsonl
	tests/with-docker.sh $(BIN)/python benchmarks/e2b.py --beneath local docker
	tests/with-postgres.sh $(BIN)/python benchmarks/journal.py

clean:
	rm -rf $(VENV) .venv-mini .venv-gym .venv-nel .venv-train .venv-cluster .run site demo-verdicts.jsonl
