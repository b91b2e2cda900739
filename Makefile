# Sketchline. `make demo` and `make test` set up what they need; `make help` lists the rest.

CARGO ?= cargo
TARGET ?=
CROSS ?=
LIB = $(or $(CARGO_TARGET_DIR),target)$(TARGET:%=/%)/release/libsketchline.a
SOURCES = Cargo.toml Cargo.lock $(shell find core/src ffi/src -name '*.rs') core/Cargo.toml ffi/Cargo.toml

.PHONY: help lib header abi-bless demo pipeline test test-long fuzz bench peers perf callgrind huge-pages neoverse clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

lib: $(LIB) ## the C library, static and shared, in target/release

$(LIB): $(SOURCES)
	@command -v $(firstword $(CARGO)) >/dev/null || \
	    { echo "make: cargo is missing: see https://rustup.rs (Rust 1.89 or newer)" >&2; exit 1; }
	$(LINKER) $(CARGO) build --release -p sketchline-ffi $(TARGET:%=--target %)
	@touch $@

# cargo's linker for another machine: CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
LINKER = $(and $(TARGET),$(CROSS),CARGO_TARGET_$(shell echo $(TARGET) | tr a-z- A-Z_)_LINKER=$(CROSS)gcc)

include ffi/dist/dist.mk

header: ## include/sketchline.h, from the sources of ffi/
	SKETCHLINE_BLESS=1 $(CARGO) test -q -p sketchline-ffi header_is_current

abi-bless: ## ffi/dist/abi, what the ABI must stay, from the header
	@.ci/abi.sh bless

demo: lib ## the main job: SQLite with and without a filter in front, and a stream (DEMO_ARGS='...')
	@c-examples/demo $(DEMO_ARGS)

pipeline: lib ## one stream, three answers: 50 million events, two minutes (PIPELINE_ARGS='--help')
	@c-examples/demo pipeline $(PIPELINE_ARGS)

test: ## everything, as CI runs it; TEST='lint core' for some steps
	@.ci/steps $(TEST)

test-long: ## what the claims need and the ordinary suite has no time for
	@.ci/steps long

fuzz: ## libFuzzer on the C interface, FUZZ_SECONDS=60 a target (FUZZ_TARGETS='decode calls')
	@.ci/fuzz.sh hunt

BENCHES = -p sketchline-benches --features peers,rocksdb,capi

bench: ## criterion (BENCH_ARGS='bloom/absent/avx2')
	$(CARGO) bench -p sketchline-benches -- $(BENCH_ARGS)

peers: lib ## beside other sketches and the machine's limit (PEERS_ARGS='--quick')
	$(CARGO) run --release $(BENCHES) --bin peers -- $(PEERS_ARGS)

perf: lib ## under hardware counters (PERF_ARGS='--quick --op absent')
	$(CARGO) run --release $(BENCHES) --bin perf -- $(PERF_ARGS)

callgrind: ## instructions per key against the baseline
	@.ci/need valgrind
	@benches/callgrind.sh

huge-pages: ## what huge pages are worth, by size
	$(CARGO) run --release -p sketchline-benches --bin huge_pages

neoverse: ## cycles per key on Arm cores, by llvm-mca
	@benches/neoverse.sh

clean: ## what was built
	rm -rf target build
