# muxlock: `make` lists the targets. Each does its own set-up; only git, make and Go are needed.
GO         ?= go
LONGEST     = ./engine ./engine/servertest ./cmd/muxlock ./engine/redsync/redsynctest ./cmd/lockbench ./pipeline ./bench ./internal/testing/rolling ./engine/enginetest
OURS        = $(LONGEST) ./cmd/lockbench/... ./cmd/muxlock/... ./... ./engine/lockotel/... ./engine/lockprom/...
ALL         = $(OURS) ./engine/lockprom/rulestest/... ./engine/fence/sqltest/...
ONSERVERS   = ./engine ./engine/servertest ./engine/enginetest ./internal/redisfake ./pipeline ./scripts ./internal/testing/model ./cmd/lockbench/internal/raw ./cmd/lockbench/internal/rivals
BIN         = bin
COUNT      ?= 1
PACKAGES   ?= 3 # at once, as the next: their tests wait more than they compute
PARALLEL   ?= 8 # tests of a package
FUZZTIME   ?= 30s
STRESS     ?= 20
MODEL      ?= all# or a part: 2/4 is the second quarter
DRAW       ?= 0 # mutants of all packages; 0: all of the pure ones
PART       ?= 1/1 # of the planted faults: 3/10 is the third tenth
TIMES      ?= 20
BENCHARGS  ?=
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help setup bench faults far burst overload denied validate model planted mutants rolling prove quick test race stress steady lint fuzz profile microbench tidy clean
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install redis-server if it is missing and that is allowed
	@sh .ci/servers

$(BIN)/lockbench: FORCE
	@$(GO) build -o $@ ./cmd/lockbench
FORCE:

bench: setup $(BIN)/lockbench ## five local masters: muxlock beside its rivals, below six minutes
	$(BIN)/lockbench compare $(BENCHARGS)

faults: setup $(BIN)/lockbench ## one master stopped or 50 ms late beside a healthy run, in turn, three times
	@for w in 64 1024; do for i in 1 2 3; do \
	  for f in "" "--fault stop:1" "--fault delay:1:0ms" "--fault delay:1:50ms" "--fault stop:1 --fault stop:2"; do \
	    printf '%5s workers  %-32s' $$w "$${f:-healthy}"; \
	    $(BIN)/lockbench run --workers $$w $$f --duration 3s --warmup 2s -o bench 2>/dev/null | \
	      awk '/^Benchmark/{printf "%9.0f cycles/s   p50 %6.2f ms   p99 %6.2f ms\n", $$5, $$7/1e6, $$9/1e6} /^# left out/{print}' || exit 1; \
	  done; done; done

far: setup $(BIN)/lockbench ## masters 0.25, 1 and 5 ms away: muxlock and Redsync over rueidis beside a lone caller, five minutes
	@sh .ci/far $(BIN)/lockbench

burst: setup ## up to 100,000 goroutines acquire at once, and release at once, ten times
	$(GO) test -run '^$$' -bench Burst -benchtime 1x ./engine

denied: setup ## 200 callers alone, and beside one that loops on names that the ACL denies
	$(GO) test -run '^$$' -bench Denied -benchtime 1x ./engine

overload: setup ## an open loop at 2 and 10 times the peak, without and with a stopped master, then at half; four minutes
	$(GO) test -run '^$$' -bench Overload -benchtime 1x ./engine

validate: setup ## do the rules behind `lockbench advise` hold against real servers? a minute
	MUXLOCK_VALIDATE=1 $(GO) test -count=1 -v -run Validate ./cmd/lockbench/internal/sizing

model: setup ## all small configurations of the fencing protocol, of the line, of sets, of readers and of changes of groups, with heals, and what breaks them
	MUXLOCK_MODEL=$(MODEL) $(GO) test -count=1 -timeout 1h -v -run Rule ./internal/testing/model
	MUXLOCK_MODEL=$(MODEL) $(GO) test -count=1 -timeout 1h -v -run Change ./engine/groups

planted: setup ## faults in production code, one at a time: which test sees each? PART of them
	$(GO) run ./internal/testing/planted -part $(PART)

mutants: setup ## one operator, number, condition or statement of the pure packages changed at a time, or DRAW of all packages: which change does no test see?
	$(GO) run ./internal/testing/planted -mutants -draw $(DRAW)

prove: ## all that is tried on the lock, as one table; an hour
	@.ci/prove

quick: ## all tests that start no server and no other process; a minute
	GOGC=400 MUXLOCK_QUICK=1 $(GO) test -vet=off -p $(PACKAGES) -parallel $(PARALLEL) $(ALL)

test: setup ## all tests, those of quick and those on real servers; those that use them also on each program of MUXLOCK_TEST_SERVERS=/path/a:/path/b
	MUXLOCK_REQUIRE_REDIS=1 $(GO) test -vet=off -p $(PACKAGES) -parallel $(PARALLEL) -count=$(COUNT) $(ALL)
	@test -n "$$MUXLOCK_TEST_SERVERS" || echo "the commands of newer servers were emulated: MUXLOCK_TEST_SERVERS tests on such servers, too"
	@IFS=:; for s in $$MUXLOCK_TEST_SERVERS; do echo "== $$s"; \
	  MUXLOCK_SERVER=$$s MUXLOCK_REQUIRE_REDIS=1 $(GO) test -count=$(COUNT) $(ONSERVERS) || exit 1; done

race: setup ## tests of packages with a goroutine or a mutex under the race detector, and those that are hostile to the engine, start servers for it or have it beside Redsync; those of muxlock run its program, which has no detector
	MUXLOCK_REQUIRE_REDIS=1 $(GO) test -vet=off -race -short -p $(PACKAGES) -parallel $(PARALLEL) -count=$(COUNT) $$(GO=$(GO) .ci/raced)

stress: setup ## the randomised and fault tests, STRESS times
	MUXLOCK_REQUIRE_REDIS=1 $(GO) test -race -v -count=$(STRESS) -run 'Random|Fault|Cancel|Overlap|Stopped|Restart' ./engine ./engine/servertest ./pipeline

steady: setup ## each test that quick leaves out TIMES times, on a machine that is kept busy, its processes stopped now and then; hours, which may be of several days
	@TIMES=$(TIMES) .ci/steady $(ALL)

lint: ## gofmt, vet; staticcheck, without the tests on a database and on Prometheus, which it would read for a minute; golangci-lint too where it is installed
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	$(GO) vet $(ALL)
	$(GO) run $(STATICCHECK) $(OURS)
	@if command -v golangci-lint >/dev/null; then golangci-lint run $(ALL); fi

fuzz: setup ## each fuzz target for FUZZTIME
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's#/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9]*).*# \1#' | while read -r p f; do \
	  echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p </dev/null || exit 1; done

microbench: setup ## go test -bench: the round, the cycle, folding, the scripts
	$(GO) test -run '^$$' -bench . -skip 'Burst|Overload|Denied' -benchtime 1s ./engine ./pipeline ./scripts ./bench

rolling: setup ## a kept lock through 50 restarts and 50 outages of real masters in each setting, and holders that are killed meanwhile; 50 minutes
	MUXLOCK_ROLLS=50 $(GO) test -count=1 -timeout 3h -parallel 3 -v ./internal/testing/rolling

profile: setup ## CPU profile of the engine at 1024 workers, as a list
	$(GO) test -run '^$$' -bench '^BenchmarkCycle$$/masters=5/workers=1024$$' -benchtime 5s -cpuprofile cpu.prof -o engine.test ./engine
	$(GO) tool pprof -top engine.test cpu.prof | head -40

tidy: ## go mod tidy for all modules
	$(GO) mod tidy
	cd cmd/lockbench && GOWORK=off $(GO) mod tidy
	cd cmd/muxlock && GOWORK=off $(GO) mod tidy
	cd engine/fence/sqltest && GOWORK=off $(GO) mod tidy
	cd engine/lockotel && GOWORK=off $(GO) mod tidy
	cd engine/lockprom && GOWORK=off $(GO) mod tidy
	cd engine/lockprom/rulestest && GOWORK=off $(GO) mod tidy
	cd engine/redsync/redsynctest && GOWORK=off $(GO) mod tidy

clean:
	rm -rf $(BIN) *.prof *.test
