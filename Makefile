# orbloom: `make help` lists the targets, V=1 shows the commands.
#
# Everything is built below $(BUILD_ROOT), one directory a variant:
#   build/          VARIANT=release (default)
#   build/asan/     AddressSanitizer and UndefinedBehaviorSanitizer
#   build/tsan/     ThreadSanitizer
#   build/coverage/ gcov
#   build/guided/   clang, libFuzzer and the sanitizers of asan: the programs in tests/fuzz
# Sources are found by wildcard: a file belongs to the layer of its directory.

comma      := ,
VARIANT    ?= release
BUILD_ROOT ?= build
VERSION    := $(shell sed -n 's/^\#define ORBLOOM_VERSION "\(.*\)"$$/\1/p' client/orbloom.h)
CC         := $(if $(filter default,$(origin CC)),$(if $(filter guided,$(VARIANT)),clang,gcc),$(CC))
AR         ?= ar
OBJCOPY    ?= objcopy
PROTOC_C   ?= protoc-c
Q          := $(if $(filter 1,$(V)),,@)
BUILD      := $(BUILD_ROOT)$(if $(filter release,$(VARIANT)),,/$(VARIANT))

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --no-print-directory -j$(shell nproc 2>/dev/null || echo 1)
endif
ifneq ($(and $(filter clean,$(MAKECMDGOALS)),$(filter-out clean,$(MAKECMDGOALS))),)
.NOTPARALLEL: # `make clean all` cleans first.
endif
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.DEFAULT_GOAL := all

# Libraries. These goals work before anything is installed; all others need pkg-config's answer.

LIBRARIES  := libzmq libprotobuf-c libconfig libuv libsodium libxxhash sqlite3 hiredis libcurl jansson libssl libcrypto libmicrohttpd
BARE_GOALS := test test-clients test-operate deb test-packages fuzz-short fuzz-long demo demo-expand bench bench-durability bench-growth bench-large bench-many bench-resp bench-sites bench-python test-python deps clean help layers format format-check models bench-backup bench-etcd
TEST_GOALS := check unit property integration coverage test-programs test-run

ifneq ($(or $(if $(MAKECMDGOALS),,all),$(filter-out $(BARE_GOALS),$(MAKECMDGOALS))),)
NEEDED     := $(LIBRARIES) $(if $(filter $(TEST_GOALS),$(MAKECMDGOALS)),criterion)
MISSING    := $(shell for lib in $(NEEDED); do pkg-config --exists $$lib 2>/dev/null || echo $$lib; done)
ifneq ($(MISSING),)
ifeq ($(filter deps,$(MAKECMDGOALS)),)
$(error missing: $(MISSING) (as pkg-config names them); `make deps` installs what is needed)
endif
endif
PKG_CFLAGS := $(shell pkg-config --cflags $(LIBRARIES))
endif

libs = $(shell pkg-config --libs $(1)) -lm

# Flags.

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wwrite-strings -Wformat=2 -Wswitch-enum -Wvla \
    $(if $(filter 1,$(WERROR)),-Werror)

# What makes a defect that is left hard to use: the release build alone, as sanitizers find more, and
# _FORTIFY_SOURCE hides from them what it replaces. Code for PIC goes into programs of both kinds and
# into liborbloom.so. tools/check-hardening.sh looks at what has become of it.
taken        = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo $(1))
HARDEN      := $(if $(filter release,$(VARIANT)),-fPIC -fstack-protector-strong \
    $(call taken,-fstack-clash-protection) $(call taken,-fcf-protection) \
    $(if $(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
LINK_release := -pie -Wl,-z,relro,-z,now,-z,noexecstack

# Two builds in two folders are equal.
FLAGS_release  := -O2 -ffile-prefix-map=$(CURDIR)=.
# Compiles in two thirds of what -O2 takes, and the simulator runs within 5 % of it.
FLAGS_asan     := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan     := -O2 -fsanitize=thread
FLAGS_coverage := -O0 --coverage
# clang counts more as a conversion than gcc does.
FLAGS_guided   := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
    -DORBLOOM_GUIDED -Wno-sign-conversion -Wno-implicit-int-float-conversion
ifeq ($(FLAGS_$(VARIANT)),)
$(error VARIANT=$(VARIANT) is not one of: release asan tsan coverage guided)
endif

# Nothing of a library is anybody's but what orbloom.h declares.
ALL_CFLAGS  := -std=c11 -D_GNU_SOURCE -g -fno-omit-frame-pointer -fvisibility=hidden -pthread $(FLAGS_$(VARIANT)) $(HARDEN) \
    -Ilib -I. -I$(BUILD)/gen $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS := -pthread $(FLAGS_$(VARIANT)) $(LINK_$(VARIANT)) -Wl,--as-needed $(LDFLAGS)

# Sources by layer. Of a daemon main.c, shell_*.c and what talks to a store's software are the shell,
# everything else is the pure core. In bench/ some files are programs, everything else is what
# they share.

sources_of  = $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)
SRC_base    := $(call sources_of,lib/base)
SRC_filter  := $(call sources_of,lib/filter)
SRC_map     := $(call sources_of,lib/map)
SRC_log     := $(call sources_of,lib/log)
SRC_resp    := $(call sources_of,lib/resp)
SRC_site    := $(call sources_of,lib/site)
SRC_backup  := $(call sources_of,lib/backup)
SRC_runtime := $(call sources_of,lib/runtime)
SRC_proto   := $(call sources_of,proto)
# A link hosts a router's core, so it comes before that where archives are linked.
DAEMONS     := link node router coordinator

shell_of    = $(wildcard $(1)/shell_*.c $(1)/store/sqlite/*.c $(1)/store/etcd/*.c)
core_of     = $(filter-out $(1)/main.c $(call shell_of,$(1)),$(call sources_of,$(1)))
$(foreach d,$(DAEMONS),$(eval SRC_$(d)_shell := $(call shell_of,$(d))))
$(foreach d,$(DAEMONS),$(eval SRC_$(d)_core := $(call core_of,$(d))))
SRC_client_shell := $(wildcard client/shell_*.c)
SRC_client_core  := $(filter-out $(SRC_client_shell),$(wildcard client/*.c))
SRC_cli          := $(filter-out cli/main.c,$(call sources_of,cli))

SRC_support := $(wildcard tests/support/*.c)
SRC_preload := $(wildcard tests/preload/*.c)
SRC_sim     := $(wildcard tests/sim/*.c)
SRC_disk    := $(wildcard $(patsubst %,tests/support/memory_%.c,disk folder file))
SIM_SUPPORT := tests/support/memory_store.c $(SRC_disk)
SRC_sim_sites := $(wildcard tests/sim_sites/*.c)
SRC_torture := $(wildcard tests/torture/*.c)
SRC_torture_sites := $(wildcard tests/torture_sites/*.c)
SRC_simulator := $(filter-out tests/sim/main.c,$(SRC_sim))
SRC_tests   := $(foreach k,unit property integration fuzz,$(wildcard tests/$(k)/*.c))
BENCH_MAINS := $(addprefix bench/,disk.c filters.c handshakes.c kernel.c report.c runs.c sites.c touch.c unfinished.c watch.c)
SRC_bench   := $(filter-out $(BENCH_MAINS),$(call sources_of,bench))
SRC_example := $(wildcard client/examples/*.c)
SRC_all     := $(foreach d,lib proto $(DAEMONS) client cli,$(call sources_of,$(d))) \
    $(SRC_support) $(SRC_preload) $(SRC_sim) $(SRC_sim_sites) $(SRC_torture) $(SRC_torture_sites) $(SRC_tests) $(SRC_bench) $(BENCH_MAINS)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

SCHEMA   := $(wildcard proto/orbloom.proto)
GEN_C    := $(if $(SCHEMA),$(BUILD)/gen/proto/orbloom.pb-c.c)
GEN_H    := $(GEN_C:.c=.h) $(BUILD)/gen/runtime/version.h
GEN_OBJ  := $(if $(SCHEMA),$(BUILD)/obj/gen/proto/orbloom.pb-c.o)

# The files of the page that a coordinator serves, in its program.
WEB      := coordinator/web
WEB_C    := $(BUILD)/gen/$(WEB)/embedded.c
WEB_OBJ  := $(BUILD)/obj/gen/$(WEB)/embedded.o
GEN_OF_proto             := $(GEN_OBJ)
GEN_OF_coordinator_shell := $(WEB_OBJ)

# Compile.

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GEN_H)
	@mkdir -p $(@D)
	@echo "CC $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(WARNINGS) $(EXTRA_$(<D)) -MMD -MP -c -o $@ $<

# Where the programs are: integration tests start them.
BIN_DIR_FLAG := -DORBLOOM_BIN_DIR='"$(abspath $(BUILD)/bin)"'
EXTRA_tests/integration := $(BIN_DIR_FLAG)
EXTRA_tests/support     := $(BIN_DIR_FLAG)
EXTRA_tests/preload     := -fPIC -fvisibility=default -fno-sanitize=all
EXTRA_tests/torture     := $(BIN_DIR_FLAG)
EXTRA_tests/torture_sites := $(BIN_DIR_FLAG)
EXTRA_client/examples   := -Iclient # as orbloom.h is installed

# orbloom.h alone holds the number; what knows nothing of the client has it from here.
$(BUILD)/gen/runtime/version.h: client/orbloom.h
	@mkdir -p $(@D)
	$(Q)grep '^#define ORBLOOM_VERSION ' $< | cmp -s - $@ || grep '^#define ORBLOOM_VERSION ' $< > $@

ifneq ($(SCHEMA),)
$(GEN_C) $(GEN_C:.c=.h) &: $(SCHEMA)
	@mkdir -p $(BUILD)/gen
	@echo "PROTO $<"
	$(Q)$(PROTOC_C) --c_out=$(BUILD)/gen $<

$(GEN_OBJ): $(GEN_C) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "CC $<"
	$(Q)$(CC) $(ALL_CFLAGS) -w -MMD -MP -c -o $@ $<
endif

$(WEB_C): tools/embed.sh $(patsubst %,$(WEB)/%,page.html page.css page.js icon.svg)
	@mkdir -p $(@D)
	@echo "EMBED $(WEB)"
	$(Q)tools/embed.sh $(WEB)/embedded.h $(filter $(WEB)/%,$^) > $@

$(WEB_OBJ): $(WEB_C) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "CC $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(WARNINGS) -MMD -MP -c -o $@ $<

# A stamp is rewritten only when its content changes, and what depends on it follows.
define stamp
$(BUILD)/$(1): FORCE
	@mkdir -p $$(@D); printf '%s\n' $$(call quoted,$(2)) | cmp -s - $$@ || \
	    printf '%s\n' $$(call quoted,$(2)) > $$@
endef
quoted = '$(subst ','\'',$(1))'
$(eval $(call stamp,flags,$$(CC) $$(ALL_CFLAGS) $$(WARNINGS)))
$(eval $(call stamp,sources,$$(sort $$(SRC_all))))
FORCE:

# Archives, one a layer. `q` keeps members that share a file name.

LAYERS := base filter map log resp site backup runtime proto client_core client_shell cli \
    $(foreach d,$(DAEMONS),$(d)_core $(d)_shell) support simulator bench
archives = $(patsubst %,$(BUILD)/obj/lib%.a,$(1))

define archive
	@mkdir -p $(@D)
	@echo "AR $@"
	$(Q)rm -f $@ && $(AR) qcsD $@ $(filter %.o,$^)
endef

define layer
$(call archives,$(1)): $(call objects,$(SRC_$(1))) $(GEN_OF_$(1)) $(BUILD)/sources
	$$(archive)
endef
$(foreach l,$(LAYERS),$(eval $(call layer,$(l))))

# The library: what client/orbloom.map names and all that this needs, in one object, in which the names
# of all else are made local. Our own programs and tests link the layers instead.

CLIENT      := $(call archives,client_shell client_core runtime proto map filter base)
API         := $(shell sed -n 's/^ *\(orbloom_[a-z_]*\);$$/\1/p' client/orbloom.map)
SONAME      := liborbloom.so.0
LIBORBLOOM  := $(BUILD)/lib/liborbloom.a
SHARED      := $(if $(filter release,$(VARIANT)),$(BUILD)/lib/liborbloom.so.$(VERSION))
CLIENT_LIBS  = $(call libs,libzmq libuv libprotobuf-c libsodium libxxhash)

$(BUILD)/obj/liborbloom.o: $(CLIENT) client/orbloom.map
	@echo "LD $@"
	$(Q)$(CC) -r -nostdlib $(call taken,-flinker-output=nolto-rel) -o $@ $(addprefix -Wl$(comma)--undefined=,$(API)) \
	    -Wl,--start-group $(CLIENT) -Wl,--end-group
	$(Q)$(OBJCOPY) --localize-hidden $@

$(LIBORBLOOM): $(BUILD)/obj/liborbloom.o
	$(archive)

$(SHARED): $(BUILD)/obj/liborbloom.o client/orbloom.map
	@mkdir -p $(@D)
	@echo "LD $@"
	$(Q)$(CC) -shared $(filter-out -pie,$(ALL_LDFLAGS)) -Wl,-z,defs -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=client/orbloom.map -o $@ $< $(CLIENT_LIBS)
	$(Q)ln -sf $(@F) $(@D)/$(SONAME) && ln -sf $(@F) $(@D)/liborbloom.so

# Programs.

define link
	@mkdir -p $(@D)
	@echo "LD $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_LIBS)
endef

PURE_LIBS   = $(call libs,libprotobuf-c libsodium libxxhash)
DAEMON_LIBS = $(call libs,libzmq libconfig libuv libprotobuf-c libsodium libxxhash)
TEST_LIBS   = $(call libs,criterion $(LIBRARIES))
SERVER_LIBS = $(DAEMON_LIBS) $(call libs,libmicrohttpd libssl libcrypto)
BENCH_LIBS  = $(DAEMON_LIBS) $(call libs,hiredis jansson)

PROGRAMS := $(foreach d,$(DAEMONS),$(if $(wildcard $(d)/main.c),$(BUILD)/bin/orbloom-$(d))) \
    $(if $(wildcard cli/main.c),$(BUILD)/bin/orbloom)

define daemon
$(BUILD)/bin/orbloom-$(1): $(call objects,$(1)/main.c) \
    $(call archives,$(1)_shell $(1)_core $(if $(filter link,$(1)),router_core) runtime resp site proto map filter log base)
	$$(link)
endef
$(foreach d,$(DAEMONS),$(eval $(call daemon,$(d))))
$(BUILD)/bin/orbloom-%: LINK_LIBS = $(SERVER_LIBS)
$(BUILD)/bin/orbloom-coordinator: LINK_LIBS = $(SERVER_LIBS) $(call libs,sqlite3 libcurl jansson)

$(BUILD)/bin/orbloom: $(call objects,cli/main.c $(SRC_cli)) $(call archives,resp backup site) $(CLIENT)
	$(link)
$(BUILD)/bin/orbloom: LINK_LIBS = $(DAEMON_LIBS) $(call libs,hiredis libssl libcrypto)

EXAMPLES := $(patsubst client/examples/%.c,$(BUILD)/examples/%,$(SRC_example))
$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/obj/client/examples/%.o $(LIBORBLOOM)
	$(link)
$(EXAMPLES): LINK_LIBS = $(CLIENT_LIBS)
$(BUILD)/examples/cache_guard: LINK_LIBS = $(CLIENT_LIBS) $(call libs,sqlite3)
$(BUILD)/examples/resp_dedup: LINK_LIBS = $(call libs,hiredis)

programs: $(PROGRAMS)
all: $(PROGRAMS) $(LIBORBLOOM) $(SHARED) $(EXAMPLES) ## Build programs, library and examples (default)

# Test programs.

tests_of     = $(patsubst tests/$(1)/%.c,$(BUILD)/tests/$(1)/%,$(wildcard tests/$(1)/*.c))
UNIT        := $(call tests_of,unit)
PROPERTY    := $(call tests_of,property)
INTEGRATION := $(call tests_of,integration)
FUZZ        := $(call tests_of,fuzz)
SIM         := $(if $(SRC_sim),$(BUILD)/tests/sim)
SIM_SITES   := $(if $(SRC_sim_sites),$(BUILD)/tests/sim-sites)
CORES       := node_core router_core coordinator_core link_core client_core

TEST_ARCHIVES := $(call archives,simulator support bench cli $(foreach d,$(DAEMONS),$(d)_shell $(d)_core) log resp backup site) \
    $(CLIENT)

$(UNIT) $(PROPERTY) $(INTEGRATION): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_ARCHIVES)
	$(link)
$(UNIT) $(PROPERTY) $(INTEGRATION): LINK_LIBS = $(TEST_LIBS)

# What integration tests have daemons preload.
PRELOADED := $(SRC_preload:tests/preload/%.c=$(BUILD)/bin/preload/%.so)
$(INTEGRATION): | $(PROGRAMS) $(EXAMPLES) $(PRELOADED)
$(PRELOADED): $(BUILD)/bin/preload/%.so: $(BUILD)/obj/tests/preload/%.o
	@mkdir -p $(@D)
	@echo "LD $@"
	$(Q)$(CC) -shared -o $@ $<
$(BUILD)/tests/unit/torture_healing: $(call objects,tests/torture/healing.c)

# What they try is pure, so few layers suffice. A guided one holds libFuzzer without its main().
$(FUZZ): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o \
    $(call objects,$(addprefix tests/support/,backup_samples.c fuzz_loop.c fuzz_input.c fuzz_fields.c log_samples.c) $(SRC_disk)) \
    $(call archives,cli client_core resp backup site proto map filter log base)
	$(link)
$(BUILD)/tests/fuzz/tls: $(call objects,lib/runtime/tls/tls.c lib/runtime/file.c)
$(FUZZ): LINK_LIBS = $(PURE_LIBS) $(if $(filter guided,$(VARIANT)), \
    $(shell $(CC) --print-file-name=libclang_rt.fuzzer_no_main-$(shell uname -m).a) -lstdc++)
$(BUILD)/tests/fuzz/tls: LINK_LIBS += $(call libs,libssl libcrypto)

TORTURE := $(if $(SRC_torture),$(BUILD)/tests/torture)
$(TORTURE): $(call objects,$(SRC_torture) $(patsubst %,bench/wan/%.c,netlink space)) $(CLIENT) | $(PROGRAMS)
	$(link)
$(TORTURE): LINK_LIBS = $(DAEMON_LIBS)

TORTURE_SITES := $(if $(SRC_torture_sites),$(BUILD)/tests/torture-sites)
$(TORTURE_SITES): $(call objects,$(SRC_torture_sites) $(patsubst %,tests/torture/%.c,folder journal ledger) \
    $(wildcard bench/wan/*.c)) \
    $(CLIENT) | $(PROGRAMS)
	$(link)
$(TORTURE_SITES): LINK_LIBS = $(DAEMON_LIBS)

# The simulator holds every object of the five cores and neither lib/runtime nor its
# libraries: that it links is the proof that the cores are pure.
$(BUILD)/tests/sim: $(call objects,$(SRC_sim))
$(BUILD)/tests/sim-sites: $(call objects,$(SRC_sim_sites) $(SRC_simulator))
$(SIM) $(SIM_SITES): $(call objects,$(SIM_SUPPORT)) $(call archives,$(CORES) resp site proto map filter log base)
	@mkdir -p $(@D)
	@echo "LD $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) \
	    -Wl,--whole-archive $(call archives,$(CORES)) -Wl,--no-whole-archive \
	    $(call archives,resp site proto map filter log base) $(PURE_LIBS)

# A mutant is the simulator with the sources that ask MUTANT(<NAME>) compiled anew as that one
# (lib/base/mutant.h); their objects come before the archives and so replace the members.
ifneq ($(MUTANT),)
MUTANT_DIR := $(BUILD)/mutants/$(MUTANT)
MUTANT_SRC := $(shell grep -lF 'MUTANT($(MUTANT))' $(SRC_filter) $(SRC_map) $(SRC_log) \
    $(SRC_site) $(SRC_proto) $(foreach c,$(CORES),$(SRC_$(c))))
MUTANT_OBJ := $(MUTANT_SRC:%.c=$(MUTANT_DIR)/%.o)
$(MUTANT_OBJ): $(MUTANT_DIR)/%.o: %.c $(BUILD)/flags | $(GEN_H)
	@mkdir -p $(@D)
	@echo "CC $< (mutant $(MUTANT))"
	$(Q)$(CC) $(ALL_CFLAGS) $(WARNINGS) -DORBLOOM_MUTANT=MUTANT_$(MUTANT) -MMD -MP -c -o $@ $<
$(MUTANT_DIR)/sim: $(call objects,$(SRC_sim))
$(MUTANT_DIR)/sim-sites: $(call objects,$(SRC_sim_sites) $(SRC_simulator))
$(addprefix $(MUTANT_DIR)/,sim sim-sites): $(call objects,$(SIM_SUPPORT)) $(MUTANT_OBJ) \
    $(call archives,$(CORES) resp site proto map filter log base)
	$(if $(MUTANT_SRC),,$(error mutant $(MUTANT): no source asks MUTANT($(MUTANT))))
	$(link)
$(addprefix $(MUTANT_DIR)/,sim sim-sites): LINK_LIBS = $(PURE_LIBS)
$(MUTANT_DIR)/unit/%: $(BUILD)/obj/tests/unit/%.o $(MUTANT_OBJ) $(TEST_ARCHIVES)
	$(if $(MUTANT_SRC),,$(error mutant $(MUTANT): no source asks MUTANT($(MUTANT))))
	$(link)
$(MUTANT_DIR)/unit/%: LINK_LIBS = $(TEST_LIBS)
-include $(MUTANT_OBJ:.o=.d)
endif

# Running tests.

ASAN_ENV := --env ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 \
    --env UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
SUITE_ENV := $(if $(filter asan,$(VARIANT)),$(ASAN_ENV))
RUN := tools/run-tests.sh --suite $(VARIANT) $(SUITE_ENV)

unit: $(UNIT) ## Does each module keep its contract?
	@$(RUN) $^
property: $(PROPERTY) ## Do the laws hold for any input?
	@$(RUN) $^
sim: $(SIM) ## Do the promises hold for whole clusters under every fault, in virtual time?
	@$(RUN) --plain $^
SEEDS ?= 5000
sim-sites: $(SIM_SITES) ## Do they hold for whole linked sites, cut off from each other and worse? SEEDS=5000
	@$(SIM_SITES) --seeds $(SEEDS)
integration: $(INTEGRATION) ## Do real processes keep the promises, killed and restarted?
	@$(RUN) --jobs 1 $^
models: ## Do the protocols keep every key in every state that Spin can reach?
	@tests/models/run.sh

TORTURE_SECONDS ?= 600
TORTURE_SEED    ?=
TORTURE_FLAGS   ?=
torture: $(PROGRAMS) $(TORTURE) ## Kill, stop, cut off and wipe real processes: is any key lost? TORTURE_SECONDS=600
	@$(TORTURE) --seconds $(TORTURE_SECONDS) $(if $(TORTURE_SEED),--seed $(TORTURE_SEED)) $(TORTURE_FLAGS)
TORTURE_KEYS ?= 10M
torture-changes: $(PROGRAMS) $(TORTURE) ## Kill each kind of process in each phase of each change, TORTURE_KEYS=10M of keys
	@for change in expand drain replace; do \
	    $(TORTURE) --change $$change --keys $(TORTURE_KEYS) $(if $(TORTURE_SEED),--seed $(TORTURE_SEED)) $(TORTURE_FLAGS) || exit 1; \
	done
SITES_SECONDS ?=
SITES_SEED    ?=
SITES_FLAGS   ?=
torture-sites: $(PROGRAMS) $(TORTURE_SITES) ## Kill, stop and cut off whole linked sites: is any key lost? SITES_SECONDS=600
	@$(TORTURE_SITES) --seconds $(or $(SITES_SECONDS),600) $(if $(SITES_SEED),--seed $(SITES_SEED)) $(SITES_FLAGS)
OLDER := $(BUILD_ROOT)/older
torture-upgrade: $(PROGRAMS) $(TORTURE) $(TORTURE_SITES) ## Take every process to this release and back, in every order, also of linked sites: is any key lost?
	@OLDER=$(OLDER) TORTURE=$(TORTURE) TORTURE_SITES=$(TORTURE_SITES) ORBLOOM_BIN_DIR=$(BUILD)/bin tools/test-upgrade.sh
mutants: $(SIM) $(SIM_SITES) ## Can the simulator fail? Each planted defect must be found
	@tools/run-mutants.sh
asan: ## All suites under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) VARIANT=asan test-asan-run
tsan: ## The programs under ThreadSanitizer, built into build/tsan
	@$(MAKE) VARIANT=tsan programs

FUZZ_SEED  ?= 1
FUZZ_COUNT ?= 100000
fuzz: ## Does malformed input do harm? FUZZ_SEED=1 FUZZ_COUNT=100000, under asan
	@$(MAKE) VARIANT=asan fuzz-run
fuzz-run: $(FUZZ)
	@$(RUN) $(call fuzz_checks,$(FUZZ_COUNT))
fuzz-programs: $(FUZZ)
FUZZ_SECONDS ?= 1200
fuzz-short: ## Does a search guided by coverage find input that does harm? 30 s a program, with libFuzzer
	@$(MAKE) FUZZ_SECONDS=30 fuzz-long
fuzz-long: ## ... FUZZ_SECONDS=1200 a program
	@tools/install-deps.sh fuzz
	@$(MAKE) VARIANT=guided fuzz-programs
	@tools/run-guided.sh $(BUILD_ROOT)/guided $(FUZZ_SECONDS)
fuzz_checks = $(foreach f,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)), \
    --check "fuzz $(f)" "$(ASAN)/tests/fuzz/$(f) $(FUZZ_SEED) $(1)")

check: format-check layers options unit sim ## The quick checks before a commit

# `make test`: the sanitizer suites, the long probes (*_rate.c) from the release build, the
# smoke test against ThreadSanitizer daemons and the static checks, closed by one count.
# Recipes below name the variants' directories, whatever VARIANT is.
REL  := $(BUILD_ROOT)
ASAN := $(BUILD_ROOT)/asan
TSAN := $(BUILD_ROOT)/tsan
built = $(patsubst tests/%.c,$(1)/tests/%,$(filter-out %_rate.c,$(wildcard tests/$(2)/*.c)))
RATE_TESTS := $(patsubst tests/%.c,$(REL)/tests/%,$(foreach k,unit property integration,$(wildcard tests/$(k)/*_rate.c)))
SMOKE      := $(if $(and $(wildcard tests/integration/smoke.c),$(PROGRAMS)),tests/integration/smoke)

# The longest first: what begins last is what all wait for.
ASAN_SUITE = --suite asan $(ASAN_ENV) --jobs 1 $(call built,$(ASAN),integration) \
    --suite asan $(ASAN_ENV) $(call built,$(ASAN),unit) $(call built,$(ASAN),property) \
    $(if $(SIM),--check "sim 40" "$(ASAN)/tests/sim --seeds 40") \
    $(if $(SIM_SITES),--check "sim-sites 8" "$(ASAN)/tests/sim-sites --seeds 8")
# What needs the machine for itself: others beside them can hold a process up for longer than a client
# waits. The tortures wait for longer, and mostly for time: they share it.
UPGRADE_ENV = $(ASAN_ENV) --env OLDER=$(OLDER) --env TORTURE=$(ASAN)/tests/torture --env TORTURE_SITES=$(ASAN)/tests/torture-sites \
    --env ORBLOOM_BIN_DIR=$(abspath $(ASAN)/bin) --env UPGRADE_ROUNDS=1 --env UPGRADE_SITES_ROUNDS=1
ALONE_SUITE = --suite alone --check benchmark "tools/test-bench-run.sh $(REL)/bench/report" \
    --check "benchmark on disk" "tools/test-bench-durability.sh $(REL)" \
    --check "benchmark of growth" "tools/test-bench-part.sh growth $(REL)" \
    --check "benchmark of RESP" "tools/test-bench-part.sh resp $(REL)" \
    --check "benchmark of many filters" "tools/test-bench-part.sh many $(REL)" \
    --check "benchmark of etcd" "tools/test-bench-part.sh etcd $(REL)" \
    --check "benchmark of being watched" "tools/test-bench-part.sh operate $(REL)" --workers 2 \
    $(if $(TORTURE_SITES),$(ASAN_ENV) --check "torture of sites" "tools/test-torture-sites.sh $(ASAN)/tests/torture-sites") \
    $(if $(TORTURE),$(ASAN_ENV) --check torture "tools/test-torture.sh $(ASAN)/tests/torture") \
    $(if $(TORTURE),$(UPGRADE_ENV) --plain tools/test-upgrade.sh)
FUZZ_SUITE = --suite fuzz $(ASAN_ENV) $(call fuzz_checks,20000)
RATE_SUITE = --suite release $(RATE_TESTS) $(if $(SIM),--plain $(REL)/tests/sim) \
    $(if $(SIM_SITES),--plain $(REL)/tests/sim-sites)
CLIENTS_ENV   = --env ORBLOOM_BIN_DIR=$(abspath $(REL)/bin) --env CLIENTS_DIR=$(abspath $(REL)/clients)
CLIENTS_SUITE = --suite clients $(CLIENTS_ENV) --plain tools/test-clients.sh
PYTHON_SUITE  = --suite python --env PYTHON_BUILD=$(abspath $(REL)) --plain tools/test-python.sh
# What people put on call, with the tools that they use; what cannot be had is skipped. $(1): how many filters.
OPERATE_SUITE = --suite operate --env ORBLOOM_BIN_DIR=$(abspath $(REL)/bin) --env PAGE_FILTERS=$(1) --plain tools/test-page.sh \
    --plain tools/test-prometheus.sh --plain tools/test-units.sh --plain tools/test-kubernetes.sh
TSAN_SUITE = $(if $(SMOKE),--suite tsan --jobs 1 --env ORBLOOM_BIN_DIR=$(abspath $(TSAN)/bin) \
    --env "TSAN_OPTIONS=suppressions=$(abspath tools/tsan.supp) exitcode=66 halt_on_error=0" \
    $(REL)/$(SMOKE))
STATIC_SUITE = --suite static --check runner tools/test-run-tests.sh \
    --check layers tools/check-layers.sh --check "layers can fail" tools/test-check-layers.sh \
    --check options "tools/check-docs.sh $(REL)/bin" \
    --check "options can fail" tools/test-check-docs.sh \
    --check alerts "tools/check-alerts.sh $(REL)/bin" --check "alerts can fail" tools/test-check-alerts.sh \
    --check format "tools/format.sh --check" \
    --check hardening "tools/check-hardening.sh $(REL)/bin $(REL)/examples $(REL)/lib" \
    --check "hardening can fail" tools/test-check-hardening.sh \
    --check "library and installation" "tools/check-library.sh $(REL)" \
    --check version "tools/check-version.sh $(REL)" --check "version can fail" tools/test-check-version.sh \
    --check "man pages" "tools/check-man.sh $(REL)" \
    --check completion "tools/check-completion.sh $(REL)" \
    --check "packages of libraries" tools/test-library-packages.sh \
    --check install tools/test-install-deps.sh \
    --check "guided fuzzing" tools/test-run-guided.sh \
    --check figures tools/test-house-figures.sh \
    --check "names of mutants" tools/test-run-mutants.sh \
    --check models "tests/models/run.sh --short" \
    $(if $(wildcard tests/sim/mutants.txt),--check mutants "tools/run-mutants.sh READ_ONE_WRITE_TWO RETRY_IS_NEW ANSWER_BEFORE_SYNC LOG_NEW_ONLY SITE_OLD_MARK")

# Large clients, and such as npm fetches; what cannot be had is skipped.
test-clients: ## Do clients of other makers work: node-redis, ioredis, Scrapy? Fetched where possible
	@timeout --foreground 300 tools/install-deps.sh clients || echo "Some clients cannot be installed here."
	@$(MAKE) VARIANT=release all
	@tools/run-tests.sh $(CLIENTS_SUITE)

test-operate: ## Do the page and the alerts do what they should, in Chromium and Prometheus? Installs both where it can
	@timeout --foreground 300 tools/install-deps.sh operate || echo "Some tools cannot be installed here."
	@$(MAKE) VARIANT=release all
	@tools/run-tests.sh $(call OPERATE_SUITE,2000)

test-units: programs ## Are the systemd units well formed, locked in, and enough for what daemons do?
	@ORBLOOM_BIN_DIR=$(abspath $(BUILD)/bin) tools/test-units.sh

test-kubernetes: programs ## Are the manifests what Kubernetes and the daemons take?
	@ORBLOOM_BIN_DIR=$(abspath $(BUILD)/bin) tools/test-kubernetes.sh
deb: ## Build the Debian packages into build/deb
	@tools/install-deps.sh packages
	@tools/make-deb.sh $(BUILD_ROOT)/deb
test-packages: deb ## Are they as lintian wants them? Install, use, upgrade, remove and purge them in a bare system; as root
	@tools/run-tests.sh --suite packages --plain tools/test-packages.sh

test: ## Install what is missing, build all variants, run every suite
	@tools/install-deps.sh test
	@timeout --foreground 300 tools/install-deps.sh clients || echo "Some clients cannot be installed here."
	@$(MAKE) test-programs
	@$(MAKE) test-run
test-programs:
	@$(MAKE) VARIANT=release all man $(SIM) $(SIM_SITES) $(RATE_TESTS) $(addprefix $(REL)/,$(SMOKE)) $(BENCHES)
	@! $(PYTHON) -c 'import cffi' 2>/dev/null || $(MAKE) VARIANT=release python
	@$(MAKE) VARIANT=asan test-variant
	$(if $(SMOKE),@$(MAKE) VARIANT=tsan programs)
	$(if $(TORTURE),@tools/older-release.sh $(OLDER) >/dev/null || [ $$? -eq 3 ])
test-variant: all $(filter-out %_rate,$(UNIT) $(PROPERTY) $(INTEGRATION)) $(SIM) $(SIM_SITES) $(TORTURE) $(TORTURE_SITES) $(FUZZ)
# The torture is the longest: half of this on a machine with two cores and other work.
test-run: export TEST_TIMEOUT_S ?= 1200
test-run:
	@tools/run-tests.sh $(ALONE_SUITE) --workers 0 $(STATIC_SUITE) $(ASAN_SUITE) $(FUZZ_SUITE) $(RATE_SUITE) $(PYTHON_SUITE) $(CLIENTS_SUITE) $(call OPERATE_SUITE,40) $(TSAN_SUITE)
test-asan-run: test-variant
	@tools/run-tests.sh --workers 0 $(ASAN_SUITE)

test-systemd: programs ## Do the units do what they should under a real systemd, booted in namespaces? As root, with mmdebstrap; 3 minutes
	@tools/test-systemd.sh $(BUILD)/bin $(BUILD)/systemd

image: programs ## An image of containers, build/image/orbloom.tar; as root on Debian 12, with mmdebstrap, buildah and a network
	@tools/make-image.sh $(BUILD)/bin $(BUILD)/image
test-image: image ## ... and does each program, and a cluster, run in it?
	@tools/test-image.sh $(BUILD)/image/orbloom.tar

# Benchmarks and the demonstration.

BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(BENCH_MAINS))
$(BENCHES): $(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(call archives,bench cli log backup site) $(CLIENT)
	$(link)
$(BENCHES): LINK_LIBS = $(BENCH_LIBS)

bench: ## Measure all in one run, beside Redis: build/bench-report/ (BENCH=quick, ROUNDS=5)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release bench-run
bench-durability: ## The part of it about what is kept on disk (BENCH=quick, ROUNDS=3)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=durability bench-run
bench-growth: ## The part of it about filters that grow (BENCH=quick)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=growth bench-run
bench-resp: ## The part of it about Redis clients, beside Redis (BENCH=quick, ROUNDS=3)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=resp bench-run
bench-many: ## The part of it about many filters, and many that were dropped (BENCH=quick, MANY_ALIVE=, MANY_DROPPED=)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=many bench-run
bench-etcd: ## The part of it about many filters in etcd; not part of bench (BENCH=quick, ETCD_FILTERS=)
	@tools/install-deps.sh test
	@$(MAKE) VARIANT=release PARTS=etcd bench-run
bench-operate: ## The part of it about being watched: scrapes, the page, measured rates (BENCH=quick)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=operate bench-run
bench-large: ## One node with more than 2^30 keys, and its restart; not part of bench (BENCH=quick, LARGE_KEYS=, LARGE_DISK_MBPS=)
	@tools/install-deps.sh bench
	@$(MAKE) VARIANT=release PARTS=large bench-run
bench-sites: ## What keys cost between two linked sites, 80 ms apart, also with losses; not part of bench (SITES_SECONDS=150, SITES_FLAGS=)
	@tools/install-deps.sh build
	@$(MAKE) VARIANT=release bench-sites-run
bench-sites-run: $(PROGRAMS) $(BUILD)/bench/sites
	@$(BUILD)/bench/sites --seconds $(or $(SITES_SECONDS),150) $(SITES_FLAGS)
bench-backup: ## What backups and restores take, and what checks wait meanwhile; not part of bench (BACKUP_KEYS=10000000)
	@tools/install-deps.sh build
	@$(MAKE) VARIANT=release bench-backup-run
bench-backup-run: $(PROGRAMS)
	@bench/backup.sh $(REL)
bench-programs: all $(BENCHES) $(SIM)
bench-run: bench-programs
	@BENCH=$(call quoted,$(BENCH)) ROUNDS=$(call quoted,$(ROUNDS)) PARTS=$(call quoted,$(PARTS)) \
	    bench/run.sh $(REL)

demo: ## Install what is missing, build, and show a whole cluster at work
	@tools/install-deps.sh demo
	@$(MAKE) VARIANT=release all
	@tools/demo.sh $(REL)/bin

demo-expand: ## ... and a filter that grows twice while keys go in
	@tools/install-deps.sh demo
	@$(MAKE) VARIANT=release all
	@tools/demo-expand.sh $(REL)/bin

deps: ## Install what building and testing need (Debian, as root or with sudo)
	@tools/install-deps.sh test

# Static checks and tools.

layers: ## Check who includes whom
	@tools/check-layers.sh
hardening: all ## Check that programs are linked with RELRO, PIE and the like
	@tools/check-hardening.sh $(BUILD)/bin $(BUILD)/examples $(BUILD)/lib
options: $(PROGRAMS) ## Check options and commands against docs and sample files
	@tools/check-docs.sh $(BUILD)/bin
format: ## Rewrite all sources with clang-format
	@tools/format.sh
format-check: ## Fail where clang-format would change a source
	@tools/format.sh --check
house-figures: all ## Count what the tree's structure is like: sizes, users, cycles (FEATURE="REV...")
	@tools/house-figures.sh $(BUILD)/obj $(if $(FEATURE),--feature $(FEATURE))
tidy: compdb $(GEN_H) ## Run clang-tidy over lib, proto and the programs
	$(Q)clang-tidy -p $(BUILD) --quiet $(filter-out tests/% bench/%,$(SRC_all))

# One JSON object a source; flags hold no blanks except in -D strings, which are left out.
compdb: $(GEN_H) ## Write build/compile_commands.json for editors and clang-tidy
	@mkdir -p $(BUILD)
	@{ echo '['; sep=''; for source in $(SRC_all); do \
	    printf '%s{"directory":"%s","file":"%s","command":"%s -c %s"}\n' \
	        "$$sep" "$(CURDIR)" "$$source" "$(CC) $(ALL_CFLAGS) $(WARNINGS)" "$$source"; sep=','; \
	done; echo ']'; } > $(BUILD)/compile_commands.json

coverage: ## Lines reached by unit, property and simulator tests, a directory a line
	@$(MAKE) VARIANT=coverage coverage-run
COVERING = $(filter-out %_rate,$(UNIT) $(PROPERTY))
coverage-run: $(COVERING) $(SIM)
	@find $(BUILD)/obj -name '*.gcda' -delete
	@$(RUN) $(COVERING) $(if $(SIM),--plain $(SIM))
	@tools/coverage.sh $(BUILD)/obj

include tools/install.mk

clean: ## Remove everything that was built
	$(Q)rm -rf $(BUILD_ROOT)

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile tools/install.mk | \
	    while IFS='|' read -r name text; do printf '  %-14s %s\n' $$name "$$text"; done

# All that are words: files have a dot, a slash or a capital in their names.
.PHONY: FORCE $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' Makefile)

-include $(patsubst %.o,%.d,$(call objects,$(SRC_all)) $(GEN_OBJ) $(WEB_OBJ))
