# sallyport: what people run here. `make test` is what CI runs.

GO ?= go
# Without cgo, which nothing here needs, a process starts in three quarters of the time.
BUILD = CGO_ENABLED=0 $(GO) build -trimpath
# The tests of these drive programs that they build, which the race detector does not see: it would only make each process slow
# that a test is itself. So they go without it, and test/faults has its soaks be of a program that is built with it. They
# wait for disks, locks and deadlines, so more of them than there are cores run at a time; the longest come first. Go cannot know
# that such a program has changed: so no result of theirs is taken from its cache.
DRIVING = ./test/faults ./test/attacks ./test/docs ./test/... ./examples/...
# Shows a line a package, every failure, and how many tests there were.
TEST = $(GO) tool gotestsum --format pkgname --format-hide-empty-pkg

.PHONY: build check test setup peers bench fuzz demo cross

# Build the binary into bin/.
build:
	$(BUILD) -o bin/sallyport ./cmd/sallyport

# Format, vet, staticcheck, the map of packages, other platforms, all Go tests: with the race detector but for those that drive
# built programs. vet has seen everything before the tests, and all that is not raced is built once, without cgo.
check peers: export CGO_ENABLED = 0
check: cross
	@test -z "$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))" || { gofmt -l $$(git ls-files -co --exclude-standard '*.go'); echo "run gofmt -w on these"; exit 1; }
	GOGC=400 $(GO) vet -tags peers ./...
	GOGC=400 $(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags peers ./test/peers ./test/hosts
	SALLYPORT_FULL=$(FULL) $(TEST) --raw-command -- sh -c 'code=0; \
		CGO_ENABLED=1 $(GO) test -json -vet=off -race $$($(GO) list ./... | grep -vE "^sallyport/(test|examples)") || code=1; \
		$(GO) test -json -vet=off -count=1 -parallel 4 $(DRIVING) || code=1; exit $$code'

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
	$(TEST) -- -p 1 -count=1 -tags peers ./test/peers ./test/hosts
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
