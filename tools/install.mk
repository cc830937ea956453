# What `make install` puts where, in the terms of GNU and of distributions: PREFIX and the folders
# below it may each be set, such as LIBDIR=/usr/lib/x86_64-linux-gnu; DESTDIR stands before all of them.

PREFIX       ?= /usr/local
BINDIR       ?= $(PREFIX)/bin
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
DATADIR      ?= $(PREFIX)/share
MANDIR       ?= $(DATADIR)/man
DOCDIR       ?= $(DATADIR)/doc/orbloom
EXAMPLEDIR   ?= $(DOCDIR)/examples
BASHDIR      ?= $(DATADIR)/bash-completion/completions
ZSHDIR       ?= $(DATADIR)/zsh/site-functions
SCRIPTDIR    ?= $(PREFIX)/lib/orbloom
UNITDIR      ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR  ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR  ?= $(PREFIX)/lib/tmpfiles.d
PYTHON       ?= /usr/bin/python3
PYTHONDIR    ?= $(PREFIX)/lib/python3/dist-packages

# Folders below PREFIX follow it in the .pc file, so that --define-prefix can move the tree.
under_prefix  = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
$(BUILD)/obj/orbloom.pc: client/orbloom.pc.in client/orbloom.h FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(call under_prefix,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(call under_prefix,$(INCLUDEDIR))|; s|@VERSION@|$(VERSION)|' $< > $@.new && mv $@.new $@

install: install-programs install-library install-completion install-docs install-units ## Install all that there is below PREFIX=/usr/local, or DESTDIR/PREFIX (BINDIR, LIBDIR, ...)

install-programs: programs
	install -d $(DESTDIR)$(BINDIR)
	install -m 755 $(PROGRAMS) $(DESTDIR)$(BINDIR)

install-library: $(LIBORBLOOM) $(SHARED) $(BUILD)/obj/orbloom.pc
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(PKGCONFIGDIR)
	install -m 644 client/orbloom.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(LIBORBLOOM) $(DESTDIR)$(LIBDIR)
	install -m 644 $(BUILD)/obj/orbloom.pc $(DESTDIR)$(PKGCONFIGDIR)
	$(if $(SHARED),install -m 644 $(SHARED) $(DESTDIR)$(LIBDIR))
	$(if $(SHARED),ln -sf $(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/$(SONAME))
	$(if $(SHARED),ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/liborbloom.so)

# As in deploy/systemd, with the folders that are theirs here.
UNITS := $(wildcard deploy/systemd/*.service deploy/systemd/*.target deploy/systemd/*.timer)
install-units:
	install -d $(addprefix $(DESTDIR),$(UNITDIR) $(SYSUSERSDIR) $(TMPFILESDIR) $(SCRIPTDIR))
	install -m 644 $(UNITS) $(DESTDIR)$(UNITDIR)
	sed -i -e 's|/usr/bin/|$(BINDIR)/|; s|/usr/lib/orbloom/|$(SCRIPTDIR)/|' \
	    -e 's|/usr/share/doc/orbloom/|$(DOCDIR)/|' $(addprefix $(DESTDIR)$(UNITDIR)/,$(notdir $(UNITS)))
	install -m 644 deploy/systemd/orbloom.sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/orbloom.conf
	install -m 644 deploy/systemd/orbloom.tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/orbloom.conf
	install -m 755 deploy/systemd/orbloom-backup.sh $(DESTDIR)$(SCRIPTDIR)/orbloom-backup
	install -m 755 tools/restore-drill.sh $(DESTDIR)$(SCRIPTDIR)/restore-drill

MAN := $(BUILD)/man/made
$(MAN): $(PROGRAMS) client/orbloom.h $(wildcard tools/man/*)
	@echo "MAN $(@D)"
	$(Q)tools/man/make.sh $(BUILD)/bin $(VERSION) $(@D) && touch $@

COMPLETION := $(BUILD)/completion/_orbloom
$(COMPLETION): $(PROGRAMS) $(wildcard tools/completion/*)
	@echo "MAN $(@D)"
	$(Q)tools/completion/make.sh $(BUILD)/bin $(@D)

man: $(MAN) $(COMPLETION) ## Make man pages and the shells' completion, of the programs' tables of options

# bash-completion looks for a file named as the program.
install-completion: $(COMPLETION)
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR)
	install -m 644 $(<D)/orbloom $(DESTDIR)$(BASHDIR)
	$(foreach d,$(DAEMONS),ln -sf orbloom $(DESTDIR)$(BASHDIR)/orbloom-$(d) &&) true
	install -m 644 $< $(DESTDIR)$(ZSHDIR)

install-docs: $(MAN)
	install -d $(addprefix $(DESTDIR)$(MANDIR)/,man1 man8)
	install -m 644 $(dir $(MAN))*.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(dir $(MAN))*.8 $(DESTDIR)$(MANDIR)/man8
	install -d $(addprefix $(DESTDIR)$(EXAMPLEDIR)/,client grafana prometheus)
	install -d $(DESTDIR)$(DOCDIR)/clients
	install -m 644 $(wildcard docs/*.md) $(DESTDIR)$(DOCDIR)
	install -m 644 $(wildcard docs/clients/*.md) $(DESTDIR)$(DOCDIR)/clients
	install -m 644 $(wildcard deploy/*.conf) $(DESTDIR)$(EXAMPLEDIR)
	install -m 644 $(wildcard client/examples/*) $(DESTDIR)$(EXAMPLEDIR)/client
	install -m 644 $(wildcard deploy/grafana/*) $(DESTDIR)$(EXAMPLEDIR)/grafana
	install -m 644 $(wildcard deploy/prometheus/*) $(DESTDIR)$(EXAMPLEDIR)/prometheus

# Not part of `all`: it takes python3-cffi. What finds packages by their metadata finds orbloom.dist-info.
PYTHON_FFI  := $(BUILD)/python/orbloom/_ffi.py
PYTHON_INFO := orbloom-$(VERSION).dist-info
$(PYTHON_FFI): python/build_ffi.py client/orbloom.h $(wildcard python/orbloom/*)
	@mkdir -p $(@D)
	@echo "PYTHON $(@D)"
	$(Q)cp $(wildcard python/orbloom/*.py) python/orbloom/py.typed $(@D)
	$(Q)$(PYTHON) python/build_ffi.py $@ > /dev/null && touch $@

python: $(PYTHON_FFI) $(SHARED) ## Make the Python package, build/python/orbloom

test-python: ## Does the Python package do what it says? Installs python3-cffi where it can
	@tools/install-deps.sh python
	@$(MAKE) VARIANT=release all python
	@PYTHON_BUILD=$(BUILD_ROOT) tools/test-python.sh

bench-python: ## How fast is it beside the C client? In batches of 1, 64 and 1,000 (PYTHON_SECONDS=2, ROUNDS=3)
	@tools/install-deps.sh python
	@$(MAKE) VARIANT=release all python
	@PYTHONPATH=$(BUILD_ROOT)/python LD_LIBRARY_PATH=$(BUILD_ROOT)/lib $(BUILD_ROOT)/bin/orbloom playground --nodes 3 \
	    --base-port 0 --in-memory --run $(PYTHON) bench/python_client.py $(BUILD_ROOT)/bin/orbloom \
	    $(or $(PYTHON_SECONDS),2) $(or $(ROUNDS),3)

install-python: $(PYTHON_FFI) ## Install it, below PYTHONDIR=PREFIX/lib/python3/dist-packages; not part of install
	install -d $(DESTDIR)$(PYTHONDIR)/orbloom $(DESTDIR)$(PYTHONDIR)/$(PYTHON_INFO)
	install -m 644 $(<D)/*.py $(<D)/py.typed $(DESTDIR)$(PYTHONDIR)/orbloom
	printf 'Metadata-Version: 2.1\nName: orbloom\nVersion: %s\nRequires-Dist: cffi (>=1.15)\n' $(VERSION) \
	    > $(DESTDIR)$(PYTHONDIR)/$(PYTHON_INFO)/METADATA
	chmod 644 $(DESTDIR)$(PYTHONDIR)/$(PYTHON_INFO)/METADATA

# By what an installation elsewhere has put there, so that there is one list; then folders that are ours.
OUR_FOLDERS = $(addprefix $(DESTDIR),$(DOCDIR) $(SCRIPTDIR) $(PYTHONDIR)/orbloom $(PYTHONDIR)/$(PYTHON_INFO))
uninstall: ## Remove what `make install` with the same folders has put there, and the Python package
	@dir=$$(mktemp -d) && $(MAKE) -s install $(if $(wildcard $(PYTHON_FFI)),install-python) DESTDIR=$$dir && \
	    (cd $$dir && find . ! -type d) | while read -r file; do rm -f $(DESTDIR)/$$file; done; rm -rf $$dir
	@for folder in $(OUR_FOLDERS); do ! test -d $$folder || find $$folder -depth -type d -empty -delete; done

# The ABI that users of the library rely on; what tools/check-library.sh compares with.
ABI := tests/abi/$(SONAME).abi
abi: $(SHARED) ## Write the library's ABI anew to tests/abi, with abidw on x86_64; see docs/releases.md
	@mkdir -p $(BUILD)/obj/include && cp client/orbloom.h $(BUILD)/obj/include
	abidw --no-corpus-path --no-comp-dir-path --no-show-locs --exported-interfaces-only --drop-private-types \
	    --headers-dir $(BUILD)/obj/include --out-file $(ABI) $(SHARED)

reproducible: ## Build HEAD twice, in two folders, and compare all that is installed, byte by byte
	@tools/check-reproducible.sh

.PHONY: python install-python test-python bench-python reproducible man install install-programs install-library install-completion install-docs install-units uninstall abi
