# unspool - one Makefile, no recursion.
#
#   make            bin/capture, bin/resolve, bin/regress
#   make demo       installs what is missing, builds, captures a real program, shows its hottest stacks
#   make check      installs what is missing, builds, runs all tests
#   make check-bare [bookworm trixie sid]  demo and check on machines with nothing installed
#   make deps-build installs what is missing to build
#   make check-long the same with whole matrices and more rounds (an hour and more)
#   make check-san  the same tests under AddressSanitizer and UBSan
#   make check-no-events  the same where perf_event_open is forbidden, as in a container
#   make check-arm64    bundles by a resolve for 64-bit Arm, by qemu (two minutes, packages of 90 MB)
#   make check-damage   every cut of every recording of the corpus, 10,000 damaged copies (minutes; SAN=address,undefined: half an hour)
#   make truth      stacks against a truth that no unwinder made (doc/accuracy.md; a quarter of an hour)
#   make exam-regress  regress on recorded jobs whose truth is known (doc/accuracy.md; hours, goes on where it ended)
#   make bench      ratios against perf on the same file
#   make bench-page what the page costs a browser, beside speedscope and an SVG
#   make install    PREFIX=/usr/local DESTDIR=: stripped, with manuals and completions for bash, zsh, fish
#   make static-capture  build/gcc/static/capture: one file to copy to any machine of this architecture
#   make dist, make deb  build/dist/: a tarball of the last commit; a Debian package of it (needs build-essential, debhelper)
#   V=1 shows commands; SAN=address,undefined, CC=clang, DEBUG=1 (-Werror -O0) build into their own folder

VERSION := 0.1
PREFIX ?= /usr/local
DESTDIR ?=
V ?= 0
Q := $(if $(filter 0,$(V)),@)

# A folder knows base/ and the public headers of folders before it.
STAGES := $(foreach s,base reader bundle modules functions runtimes dwarf cut demangle symbolize unwind values stitch profile input output load report regress browse probe capture,$(if $(wildcard $(s)/*.c),$(s)))
COMMANDS := capture resolve regress

ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
empty :=
variant := $(subst $(empty) ,,$(notdir $(CC)))$(if $(SAN),-san)$(if $(DEBUG),-debug)
BUILD := build/$(variant)
BIN := $(if $(SAN)$(DEBUG)$(filter-out gcc,$(notdir $(CC))),$(BUILD)/bin,bin)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wvla -Wundef -Wformat=2 -Wpointer-arith -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough -Wno-missing-field-initializers
OPT := $(if $(DEBUG),-O0 -Werror -Wno-error=deprecated-declarations,-O2)
UNSPOOL_CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -DUNSPOOL_VERSION='"$(VERSION)"'
CFLAGS ?= -g
# As distributions build what root runs; costs nothing that can be measured. Sanitizers have their own.
HARDEN := $(if $(SAN)$(DEBUG),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fPIE \
	$(if $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection))
HARDEN_LD := $(if $(SAN)$(DEBUG),,-pie -Wl,-z,relro,-z,now)
UNSPOOL_CFLAGS := -std=gnu11 $(OPT) $(WARN) $(HARDEN) -fno-omit-frame-pointer -pthread \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined) $(CFLAGS)
# The cache tells builds of resolve apart by their build ids.
# A command is linked with what it uses only: capture builds where the others' libraries are missing.
CAPTURE_LIBS := -Wl,--build-id -lzstd -llzma -lz -liberty -lm -pthread
LDLIBS := -ldw -lelf -lncursesw -ltinfo -ldl $(CAPTURE_LIBS)
# What only this refers to weakly (reader/reader.c); capture goes without.
LDLIBS += -Wl,-u,tracepoints_new
$(BIN)/capture: LDLIBS := $(CAPTURE_LIBS)
$(BIN)/regress: LDLIBS := $(filter-out -lncursesw -ltinfo,$(LDLIBS))
CMOCKA := -lcmocka


lib = $(BUILD)/lib$(1).a
objs = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)/*.c))
# archives a stage may link with: itself and everything before it, last first
before = $(if $(filter $(1),$(firstword $(2))),$(1),$(firstword $(2)) $(call before,$(1),$(wordlist 2,99,$(2))))
reverse = $(if $(1),$(call reverse,$(wordlist 2,99,$(1))) $(firstword $(1)))
archives = $(foreach s,$(call reverse,$(call before,$(1),$(STAGES))),$(call lib,$(s)))
ALL_LIBS := $(foreach s,$(call reverse,$(STAGES)),$(call lib,$(s)))

.PHONY: all deps libs demo check check-quick check-san check-damage bench install clean FORCE
.DEFAULT_GOAL := all
all: $(COMMANDS:%=$(BIN)/%)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(UNSPOOL_CPPFLAGS) $(CPPFLAGS) $(UNSPOOL_CFLAGS) -MMD -MP -c -o $@ $<

# Files that .incbin puts into the program.
$(BUILD)/output/fmt_flamegraph.o: output/page/flamegraph.js output/page/labels.js
$(BUILD)/output/fmt_html.o: $(wildcard output/page/*)

# Rebuild when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@command -v $(firstword $(CC)) >/dev/null || { echo "no $(CC) here; make deps-build installs what is needed" >&2; exit 1; }
	@echo '$(CC) $(UNSPOOL_CPPFLAGS) $(CPPFLAGS) $(UNSPOOL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(UNSPOOL_CPPFLAGS) $(CPPFLAGS) $(UNSPOOL_CFLAGS)' > $@

# Two makes in one folder, as beside a test that builds, must not write to one archive.
define stage_rule
$(call lib,$(1)): $(call objs,$(1))
	$(Q)ar rcsD $$@.$$$$$$$$ $$^ && mv $$@.$$$$$$$$ $$@
endef
$(foreach s,$(STAGES),$(eval $(call stage_rule,$(s))))
libs: $(ALL_LIBS)

# A command is cmd/NAME.c and what it needs of the other cmd/*.c and the stages: archives, so that capture,
# which runs on machines with nothing installed, brings neither unwinder nor libdw.
CMD_LIB := $(BUILD)/libcmd.a
$(CMD_LIB): $(filter-out $(COMMANDS:%=$(BUILD)/cmd/%.o),$(call objs,cmd))
	$(Q)ar rcsD $@.$$$$ $^ && mv $@.$$$$ $@
$(COMMANDS:%=$(BIN)/%): $(BIN)/%: $(BUILD)/cmd/%.o $(CMD_LIB) $(ALL_LIBS)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) $(UNSPOOL_CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $< $(CMD_LIB) $(ALL_LIBS) -Wl,--as-needed $(LDLIBS)

# One file to copy to any machine of this architecture.
# Its relocations, most of them of constant tables, would be 3 %.
STATIC_LD := -static-pie -Wl,--gc-sections -Wl,-z,pack-relative-relocs
static-capture: $(BUILD)/static/capture
STATIC_OBJS := $(call objs,modules/static)
$(BUILD)/static/capture: $(BUILD)/cmd/capture.o $(STATIC_OBJS) $(CMD_LIB) $(ALL_LIBS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNSPOOL_CFLAGS) $(LDFLAGS) $(INSTALL_STRIP) $(STATIC_LD) -o $@ $< $(STATIC_OBJS) $(CMD_LIB) $(ALL_LIBS) $(CAPTURE_LIBS)
.PHONY: static-capture

# cmocka 2 deprecates what cmocka 1 has alone.
$(BUILD)/tests/%.o: UNSPOOL_CFLAGS += -Wno-deprecated-declarations
# Unit tests: tests/STAGE/test_X.c, linked with the archives up to STAGE only.
UNIT_SRC := $(wildcard $(foreach s,$(STAGES),tests/$(s)/test_*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
define unit_rule
$(BUILD)/tests/$(1)/test_%: $(BUILD)/tests/$(1)/test_%.o $(call archives,$(1))
	$(Q)$(CC) $(UNSPOOL_CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $$@ $$< $(call archives,$(1)) $(LDLIBS) $(CMOCKA)
endef
$(foreach s,$(STAGES),$(eval $(call unit_rule,$(s))))
.SECONDARY:

# Test helpers that are programs of their own: tests/STAGE/tool_X.c
TOOL_SRC := $(wildcard $(foreach s,$(STAGES),tests/$(s)/tool_*.c))
TOOL_BIN := $(TOOL_SRC:%.c=$(BUILD)/%)
define tool_rule
$(BUILD)/tests/$(1)/tool_%: $(BUILD)/tests/$(1)/tool_%.o $(call archives,$(1))
	$(Q)$(CC) $(UNSPOOL_CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $$@ $$< $(call archives,$(1)) $(LDLIBS)
endef
$(foreach s,$(STAGES),$(eval $(call tool_rule,$(s))))

# Fuzz targets as plain programs: tests/STAGE/fuzz_X.c with the main() of tests/fuzz_replay.c
FUZZ_SRC := $(wildcard $(foreach s,$(STAGES),tests/$(s)/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
define fuzz_rule
$(BUILD)/tests/$(1)/fuzz_%: $(BUILD)/tests/$(1)/fuzz_%.o $(BUILD)/tests/fuzz_replay.o $(call archives,$(1))
	$(Q)$(CC) $(UNSPOOL_CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $$@ $$< $(BUILD)/tests/fuzz_replay.o $(call archives,$(1)) $(LDLIBS)
endef
$(foreach s,$(STAGES),$(eval $(call fuzz_rule,$(s))))
tests-built: all $(UNIT_BIN) $(TOOL_BIN) $(FUZZ_BIN)
.PHONY: tests-built

# What is missing to build, to see the demo, to run the tests.
deps-build:
	@sh ./deps.sh build
deps-demo:
	@sh ./deps.sh demo
deps:
	@sh ./deps.sh test
	@test -e build/npm/axe.min.js || sh tests/axe.sh build/npm/axe.min.js
	@test -e build/npm/libduckdb.so || sh tests/duckdb.sh build/npm/libduckdb.so
	@test -e build/npm/closure || sh tests/closure.sh build/npm/closure
.PHONY: deps-build deps-demo

# As many jobs as processors, unless the user says how many.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

demo: deps-demo
	@echo "building .."
	@$(MAKE) $(PARALLEL) -s --no-print-directory all >/dev/null
	@sh bench/demo.sh $(BIN)

check: deps
	@$(MAKE) $(PARALLEL) --no-print-directory tests-built
	@$(MAKE) --no-print-directory check-quick

# Recordings of this machine by a resolve for 64-bit Arm; once its libraries are there make check does the same. Two minutes of two processors.
check-arm64: deps
	@sh tests/arm64.sh || test $$? = 77
	@$(MAKE) $(PARALLEL) --no-print-directory tests-built
	@$(MAKE) --no-print-directory T=tests/e2e/test_bundle_kinds check-quick
.PHONY: check-arm64

# The same tests with whole matrices of compilers and formats, and with more rounds (tests/tap.py).
check-long: deps
	@sh tests/arm64.sh || test $$? = 77
	@$(MAKE) $(PARALLEL) --no-print-directory tests-built
	@LONG=1 $(MAKE) --no-print-directory T="--limit 14400 $(T)" check-quick
.PHONY: check-long

# On machines with nothing installed: chroots of the releases that are named, as in `make check-bare trixie sid`.
KNOWN_RELEASES := bookworm trixie sid
RELEASES ?= $(or $(filter $(KNOWN_RELEASES),$(MAKECMDGOALS)),bookworm)
check-bare:
	@sh ./deps.sh test
	@bash tests/bare.sh $(RELEASES)
ifneq ($(filter check-bare,$(MAKECMDGOALS)),)
$(KNOWN_RELEASES): check-bare
	@:
.PHONY: $(KNOWN_RELEASES)
endif
.PHONY: check-bare

# check without looking for missing packages
check-quick: tests-built
	@python3 tests/run.py --build $(BUILD) --bin $(BIN) $(T)

# where no event may be opened, as in a container: what then is skipped says so
check-no-events: tests-built
	@$(CC) -O2 -o $(BUILD)/no_events tests/no_events.c
	@$(BUILD)/no_events python3 tests/run.py --build $(BUILD) --bin $(BIN) $(T)
.PHONY: check-no-events

check-san: deps
	@$(MAKE) $(PARALLEL) --no-print-directory SAN=address,undefined tests-built
	@$(MAKE) --no-print-directory SAN=address,undefined T="--limit 900 $(T)" check-quick

# Damaged copies of the corpus in tests/reader leave out some cuts of large files; here they are.
check-damage: tests-built
	@LONG=1 python3 tests/run.py --once --limit 14400 --build $(BUILD) --bin $(BIN) tests/reader/test_damage tests/reader/test_sums

# Stacks beside what programs record of themselves: 100,000 samples and more, half an hour.
truth: tests-built
	@LONG=1 python3 tests/run.py --once --limit 7200 --build $(BUILD) --bin $(BIN) tests/unwind/test_truth
.PHONY: truth

# How often regress is wrong, on this machine: recorded jobs (some hours; can be stopped and taken up again; E="--aa 1000" is the long
# form), then drawn ones and trends.
exam-regress: deps all
	@python3 bench/exam_record.py --dir build/exam-regress $(E)
	@python3 bench/exam_judge.py --dir build/exam-regress --anew -v >/dev/null
	@python3 bench/exam_record.py --dir build/exam-regress $(E) --again
	@python3 bench/exam_judge.py --dir build/exam-regress --anew -v
	@python3 bench/exam_drawn.py --jobs 300 --seed 1000
	@python3 bench/exam_trend.py --series 100
.PHONY: exam-regress

bench: deps
	@$(MAKE) --no-print-directory tests-built
	@python3 bench/bench.py --bin $(BIN) --build $(BUILD) $(B)

# The page of -f html in a browser, beside speedscope and an SVG.
bench-page: deps all
	@python3 bench/page.py --bin $(BIN) $(B)
.PHONY: bench-page

INSTALL_STRIP ?= -s
share := $(DESTDIR)$(PREFIX)/share
install: all completions
	install -d $(DESTDIR)$(PREFIX)/bin $(share)/man/man1 $(share)/man/man7 $(share)/doc/unspool $(share)/bash-completion/completions \
		$(share)/zsh/vendor-completions $(share)/fish/vendor_completions.d
	install $(INSTALL_STRIP) -m 755 $(COMMANDS:%=$(BIN)/%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(wildcard doc/*.1) $(share)/man/man1
	install -m 644 $(wildcard doc/*.7) $(share)/man/man7
	install -m 644 README.md $(wildcard doc/*.md doc/*.json packaging/systemd/*.service) $(share)/doc/unspool
	install -m 644 $(COMMANDS:%=$(BUILD)/completions/%) $(share)/bash-completion/completions
	install -m 644 $(COMMANDS:%=$(BUILD)/completions/_%) $(share)/zsh/vendor-completions
	install -m 644 $(COMMANDS:%=$(BUILD)/completions/%.fish) $(share)/fish/vendor_completions.d

# From the option tables, by what --help prints of them.
completions: all
	@mkdir -p $(BUILD)/completions
	@for c in $(COMMANDS); do sh doc/completions.sh $(BIN)/$$c $(BUILD)/completions || exit 1; done

# A tarball of the last commit, and a Debian package of it.
dist:
	@mkdir -p build/dist
	git archive --prefix=unspool-$(VERSION)/ -o build/dist/unspool-$(VERSION).tar.gz HEAD
deb: dist
	rm -rf build/dist/unspool-$(VERSION)
	tar -C build/dist -xf build/dist/unspool-$(VERSION).tar.gz
	cd build/dist/unspool-$(VERSION) && cp -r packaging/debian debian && dpkg-buildpackage -b -us -uc
.PHONY: completions dist deb

clean:
	rm -rf build bin

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
