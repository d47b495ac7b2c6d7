# The two commands of the README are `make run` and `make test`; both set up all they need.
SHELL := /bin/bash
bin := .venv/bin
export MUJOCO_GL ?= egl
export PYOPENGL_PLATFORM ?= egl
export GRADIO_ANALYTICS_ENABLED := False

.PHONY: setup run test lint format types bench bench-router eval-masks eval-match eval-twin lock sample-scenes

setup:
	@scripts/setup

run: setup
	@$(bin)/grs-studio $(ARGS)

test:
	@scripts/setup --browser
	@$(bin)/python -m pytest $(or $(ARGS),-n 2 --dist loadfile)

lint: setup
	@$(bin)/ruff check . && $(bin)/ruff format --check .

format: setup
	@$(bin)/ruff check --fix . ; $(bin)/ruff format .

types: setup
	@$(bin)/basedpyright

bench:           # each speed beside its budget; ARGS="click start" measures some of them
	@scripts/setup --browser
	@$(bin)/python -m tests.bench $(ARGS)

eval-masks: setup  # masks against those that people drew, on ../shared/frames and the sample scenes
	@$(bin)/python -m tests.bench.masks

eval-match: setup  # the library's assets chosen for real objects, on ../shared/frames
	@$(bin)/python -m tests.bench.match $(ARGS)

eval-twin: setup   # twins of drawn scenes against their exact truth
	@$(bin)/python -m tests.bench.twin $(ARGS)

bench-router: setup  # programs with one planted fault each: which side is chosen, what is repaired
	@$(bin)/python -m tests.bench.router $(ARGS)

lock:            # renew the lock file after a change to pyproject.toml
	@uv pip compile --quiet --universal --no-emit-index-url --python-version 3.11 --extra dev pyproject.toml -o requirements.lock

sample-scenes:   # make sample_scenes/ again from its scripts
	@$(bin)/python sample_scenes/make_library.py && $(bin)/python sample_scenes/make_scenes.py
