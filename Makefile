# sallyport: what people run here. `make test` is what CI runs.

GO ?= go
# Without cgo, which nothing here needs, a process starts in three quarters of the time.
BUILD = CGO_ENABLED=0 $(GO) build -trimpath
PACKAGES = ./...
# Shows a line a package, every failure, and how many tests there were.
TEST = $(GO) tool gotestsum --format pkgname --format-hide-empty-pkg --

.PHONY: build check test setup peers bench fuzz demo cross

# Build the binary into bin/.
build:
	$(BUILD) -o bin/sallyport ./cmd/sallyport

# Format, vet, staticcheck, the map of packages, all Go tests with the race detector, other platforms.
check: cross
	@test -z "$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))" || { gofmt -l $$(git ls-files -co --exclude-standard '*.go'); echo "run gofmt -w on these"; exit 1; }
	$(GO) vet $(PACKAGES)
	$(GO) vet -tags peers ./test/peers ./test/hosts
	$(GO) tool staticcheck $(PACKAGES)
	$(GO) tool staticcheck -tags peers ./test/peers ./test/hosts
	SALLYPORT_FULL=$(FULL) $(TEST) -race $(PACKAGES)

# Everything: installs what is missing, check with no fault test left out, then the real clients and hosts from npm.
test: FULL = 1
test: setup check peers

setup:
	scripts/setup

# The official TypeScript clients, the MCP Inspector, servers from npm, the conformance suite and Claude Code against the real
# binary (installs them with npm). One after the other: a hook has a deadline.
peers:
	test/peers/install
	test/hosts/install
	$(TEST) -p 1 -tags peers ./test/peers ./test/hosts
	@echo "The conformance suite, against a server directly and through the gate:" && cat test/peers/node_modules/conformance.txt

# Ratios to ceilings that are measured in the same run.
bench:
	$(GO) run ./test/bench

# Each fuzz target for FUZZTIME.
FUZZTIME ?= 30s
fuzz:
	@set -e; for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for name in $$(grep -rhoE '^func Fuzz[A-Za-z]*' $$target/*_test.go | cut -c6-); do \
			echo "== $$target $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./$$target; done; done

# Play the proofs before your eyes.
demo: build
	bin/sallyport demo

# It builds for the platforms that it is not tested on.
cross:
	GOOS=windows $(GO) build -o /dev/null ./cmd/sallyport
	GOOS=darwin $(GO) build -o /dev/null ./cmd/sallyport
