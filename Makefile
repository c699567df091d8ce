# SPDX-License-Identifier: MIT
# The front door; the build itself is Meson's. On a fresh Debian 12, `make run` and `make test` do
# all that is needed, installing of packages included.
BUILD  ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 10
MUTANTS ?= 10000
MINUTES ?= 60
SANITIZERS = -Db_sanitize=address,undefined -Db_lundef=false
WITH_CLANG = CC=clang-14 CXX=clang++-14
# Tests that wait leave a processor to others.
TESTS_AT_ONCE = $(shell expr $$(nproc) + 1)
RUN_TESTS = meson test --no-rebuild --print-errorlogs --num-processes $(TESTS_AT_ONCE) -C

all: | setup-build
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/) -Dtests=false
	@ninja -C $(BUILD)

everything: | setup-test
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/) -Dtests=true
	@ninja -C $(BUILD)

# A real program, built from its Debian source package, under `headroom run`. Builds no more than that needs.
run: | setup-run
	@tools/run_example $(BUILD) --prefix=$(or $(PREFIX),/) -Dtests=false

# Everything but the long versions; ends with "N passed, N failed".
test: everything
	@tools/setup-web
	@$(RUN_TESTS) $(BUILD); status=$$?; tools/summarize $(BUILD) && exit $$status

# The long versions as well (tests/README.md says which), with both compilers' sanitizers; ends with "N passed, N failed".
test-full: everything
	@tools/setup-web
	@rm -f $(BUILD)/meson-logs/testlog.json build-sanitize/meson-logs/testlog.json build-clang/meson-logs/testlog.json; \
	    export HEADROOM_TESTS=full; \
	    $(RUN_TESTS) $(BUILD); $(MAKE) sanitize; sanitize=$$?; $(MAKE) clang; clang=$$?; \
	    $(MAKE) fuzz FUZZ_SECONDS=60; fuzz=$$?; \
	    tools/summarize $(BUILD) build-sanitize build-clang --step sanitize=$$sanitize clang=$$clang fuzz=$$fuzz

# An empty PREFIX is the root, as in GNU's makefiles.
install: all
	@meson configure $(BUILD) -Dprefix=$(or $(PREFIX),/)
	@meson install -C $(BUILD) --destdir="$(DESTDIR)"

# Removes the files that `make install` with the same PREFIX and DESTDIR installs.
uninstall: | setup-build
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/) -Dtests=false
	@meson configure $(BUILD) -Dprefix=$(or $(PREFIX),/)
	@tools/uninstall $(BUILD) "$(DESTDIR)"

# The Debian package, in build-deb.
deb: | setup-deb
	@tools/deb build-deb

check-format: | setup-test
	@tools/format --check

# Host code with AddressSanitizer and UndefinedBehaviorSanitizer, and its tests.
sanitize: | setup-test
	@tools/configure build-sanitize $(SANITIZERS)
	@ninja -C build-sanitize
	@$(RUN_TESTS) build-sanitize; status=$$?; tools/summarize build-sanitize && exit $$status

# The same by clang, whose warnings are errors, and the fuzzers.
build-clang: | setup-test
	@$(WITH_CLANG) tools/configure $@ $(SANITIZERS) -Dfuzzers=true
	@ninja -C $@

clang: build-clang
	@$(RUN_TESTS) build-clang; status=$$?; tools/summarize build-clang && exit $$status

# Every fuzzer in tests/fuzz: what is kept in tests/fuzz/corpus, then FUZZ_SECONDS of new inputs.
fuzz: build-clang
	@tools/fuzz build-clang $(FUZZ_SECONDS)

# So many damaged profiles, raw logs, program files through every reader; keeps what fails in build-sanitize/mutants/found.
mutants: everything
	@tools/configure build-sanitize $(SANITIZERS)
	@ninja -C build-sanitize tests/mutants/mutants_reader
	@nice -n 10 tests/mutants/run build-sanitize/tests/mutants/mutants_reader --count $(MUTANTS) \
	    --recorder $(BUILD)/headroom --directory build-sanitize/mutants --table build-sanitize/mutants/table.md

# The programs of tests/torture under every verb and engine, as root and as an ordinary user; ~1 hour.
torture-matrix: everything
	@tests/torture/matrix $(BUILD)/headroom $(BUILD)/tests/torture docs/reliability.md

# Every program of this system that answers --version or --help, native against observed; the outcome goes into docs.
torture-system: everything
	@tests/system/sweep $(BUILD)/headroom $(BUILD)/torture-system --document docs/reliability.md

# Tens of thousands of observed runs; goes on where it was stopped, MINUTES at a time, and adds to subjects/torture-long.csv.
torture-long: everything
	@tests/system/long run $(BUILD)/headroom subjects --minutes $(MINUTES)
	@tests/system/long document subjects docs/reliability.md

# System calls of headroom and its agent fail in turn, every error at every site: half an hour.
faults: everything
	@tests/faults/run --whole --document docs/reliability.md $(BUILD)

# Overhead on real programs, native against observed; takes the machine for 8 minutes, after building them.
bench: all | setup-bench
	@bench/build subjects
	@bench/overhead $(BUILD)/headroom subjects

setup-run setup-build setup-test setup-bench setup-deb: setup-%:
	@tools/setup $*

clean:
	rm -rf $(BUILD) build-sanitize build-clang build-deb

.PHONY: all everything run test test-full install uninstall deb check-format sanitize build-clang clang fuzz faults mutants bench torture-matrix torture-system torture-long \
    clean setup-run setup-build setup-test setup-bench setup-deb
