# SPDX-License-Identifier: MIT
# The front door; the build itself is Meson's. On a fresh Debian 12, `make run` and `make test` do
# all that is needed, installing of packages included.
BUILD  ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
MUTANTS ?= 10000
MINUTES ?= 60
SANITIZERS = -Db_sanitize=address,undefined -Db_lundef=false

all: | setup-build
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/)
	@ninja -C $(BUILD)

# A real program, built from its Debian source package, under `headroom waste`.
run: all
	@tools/run_example $(BUILD)

# Everything but the long versions; ends with "N passed, N failed".
test: | setup-test
	@tools/setup-web
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/)
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs; status=$$?; \
	    tools/summarize $(BUILD) && exit $$status

# An empty PREFIX is the root, as in GNU's makefiles.
install: all
	@meson configure $(BUILD) -Dprefix=$(or $(PREFIX),/)
	@meson install -C $(BUILD) --destdir="$(DESTDIR)"

# Removes the files that `make install` with the same PREFIX and DESTDIR installs.
uninstall: | setup-build
	@tools/configure $(BUILD) --prefix=$(or $(PREFIX),/)
	@meson configure $(BUILD) -Dprefix=$(or $(PREFIX),/)
	@tools/uninstall $(BUILD) "$(DESTDIR)"

check-format: | setup-test
	@find src tests examples -name '*.c' -o -name '*.cpp' | xargs clang-format --dry-run -Werror

# Host code with AddressSanitizer and UndefinedBehaviorSanitizer, and its tests.
sanitize: | setup-test
	@tools/configure build-sanitize $(SANITIZERS)
	@ninja -C build-sanitize
	@meson test -C build-sanitize --no-rebuild --print-errorlogs; status=$$?; \
	    tools/summarize build-sanitize && exit $$status

clang: | setup-test
	@CC=clang-14 CXX=clang++-14 tools/configure build-clang
	@ninja -C build-clang

# A short run of every fuzzer in tests/fuzz.
fuzz: | setup-test
	@CC=clang-14 CXX=clang++-14 tools/configure build-fuzz $(SANITIZERS) -Dc_args=-fsanitize=fuzzer-no-link
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

# So many damaged profiles, raw logs, program files through every reader; keeps what fails in build-sanitize/mutants/found.
mutants: all | setup-test
	@tools/configure build-sanitize $(SANITIZERS)
	@ninja -C build-sanitize tests/mutants/mutants_reader
	@nice -n 10 tests/mutants/run build-sanitize/tests/mutants/mutants_reader --count $(MUTANTS) \
	    --recorder $(BUILD)/headroom --directory build-sanitize/mutants --table build-sanitize/mutants/table.md

# The programs of tests/torture under every verb and engine, as root and as an ordinary user; ~1 hour.
torture-matrix: all | setup-test
	@tests/torture/matrix $(BUILD)/headroom $(BUILD)/tests/torture docs/reliability.md

# Every program of this system that answers --version or --help, native against observed; the outcome goes into docs.
torture-system: all | setup-test
	@tests/system/sweep $(BUILD)/headroom $(BUILD)/torture-system --document docs/reliability.md

# Tens of thousands of observed runs; goes on where it was stopped, MINUTES at a time, and adds to subjects/torture-long.csv.
torture-long: all | setup-test
	@tests/system/long run $(BUILD)/headroom subjects --minutes $(MINUTES)
	@tests/system/long document subjects docs/reliability.md

# System calls of headroom and its agent fail in turn, every error at every site: half an hour.
faults: all | setup-test
	@tests/faults/run --whole --document docs/reliability.md $(BUILD)

# Overhead on real programs, native against observed; takes the machine for ~30 minutes.
bench: all | setup-bench
	@bench/build subjects
	@bench/overhead $(BUILD)/headroom subjects

setup-build setup-test setup-bench: setup-%:
	@tools/setup $*

clean:
	rm -rf $(BUILD) build-sanitize build-clang build-fuzz

.PHONY: all run test install uninstall check-format sanitize clang fuzz faults mutants bench torture-matrix torture-system torture-long clean setup-build setup-test setup-bench
