# `make run` opens the studio, `make test` runs every test; both set up what they need (README.md).
SHELL := /bin/bash
bin := .venv/bin
export GRADIO_ANALYTICS_ENABLED := False
# Each of the many processes would compile the studio anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup sam2 run test wheel lint format types bench bench-router eval-masks eval-match eval-twin eval-appearance lock sample-scenes soak pictures

setup:
	@scripts/setup

sam2:            # add torch and SAM 2 to a light set-up
	@scripts/setup --sam2

run: setup
	@$(bin)/grs-studio $(ARGS)

# Two processes on two cores: their threads would only wait for each other.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test:
	@scripts/setup --browser
	@$(bin)/python -m pytest $(or $(ARGS),-n 2 --dist loadfile --no-loadscope-reorder)

soak:            # what is too long for `make test`, and other people's software; ARGS="tests/chaos" runs some of it
	@scripts/setup --browser --soak
	@$(bin)/python -m pytest -m soak --durations=0 --durations-min=30 $(ARGS)
	@test -n "$(ARGS)" || PYTHONPATH=$(CURDIR)/build/soak/gradio $(bin)/python -m pytest tests/studio tests/ui  # with the oldest Gradio

lint: setup      # Python, the order of rooms, JavaScript and CSS
	@$(bin)/ruff check . && $(bin)/ruff format --check . && $(bin)/lint-imports && scripts/lint_web

format: setup
	@$(bin)/ruff check --fix . ; $(bin)/ruff format . ; scripts/lint_web --fix

wheel: setup     # build dist/grs_studio-*.whl
	@$(bin)/uv build --wheel --no-build-isolation --python $(bin)/python

types: setup     # without the stubs that Gradio writes beside its components when the studio runs
	@rm -f components/*.pyi && $(bin)/basedpyright

bench:           # each speed beside its budget; ARGS="click start --out FILE", later ARGS="--against FILE ..."
	@scripts/setup --browser
	@$(bin)/python -m bench $(ARGS)

eval-masks: setup  # masks against those that people drew, on ../shared/frames and the sample scenes; ARGS=--drawn: rendered tables
	@$(bin)/python -m bench.masks $(ARGS)

eval-match: setup  # the library's assets chosen for real objects, on ../shared/frames
	@$(bin)/python -m bench.match $(ARGS)

eval-twin: setup   # twins of drawn scenes against their exact truth
	@$(bin)/python -m bench.twin $(ARGS)

eval-appearance: setup  # how alike photograph and twin look; build/appearance.png shows them side by side
	@$(bin)/python -m bench.appearance $(ARGS)

bench-router: setup  # programs with one fault each: which side is chosen, what is repaired
	@$(bin)/python -m bench.router $(ARGS)

pictures:        # the pictures of the six steps and the recorded demo, taken again
	@scripts/setup --browser
	@$(bin)/python -m scripts.take_pictures
	@$(bin)/python -m scripts.record_demo

lock:            # renew the lock file after a change to pyproject.toml
	@$(bin)/uv pip compile --quiet --universal --no-emit-index-url --python-version 3.11 --extra dev pyproject.toml -o requirements.lock

sample-scenes:   # make sample_scenes/ again from its scripts
	@$(bin)/python sample_scenes/make_library.py && $(bin)/python sample_scenes/make_scenes.py
