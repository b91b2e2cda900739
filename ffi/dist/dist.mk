# The library as others install it. `make install PREFIX=/usr/local DESTDIR=`, and LIBDIR, INCLUDEDIR, DATADIR, MANDIR,
# DOCDIR, PKGCONFIGDIR, CMAKEDIR for what shall lie elsewhere: ffi/dist/install reads them, from the command line or the
# environment. For another machine TARGET=aarch64-unknown-linux-gnu CROSS=aarch64-linux-gnu- (what Rust and what the C
# tools call it), here as with `make lib`.

DIST = ffi/dist
BUILT = build/dist$(TARGET:%=/%)
MAN = $(BUILT)/man/sketchline.3

ifeq ($(origin CC),default)
CC = $(if $(CROSS),$(CROSS)gcc,cc)
endif
ifeq ($(origin LD),default)
LD = $(CROSS)ld
endif
ifeq ($(origin AR),default)
AR = $(CROSS)ar
endif
OBJCOPY ?= $(CROSS)objcopy
OBJDUMP ?= $(CROSS)objdump
NM ?= $(CROSS)nm
TOOLS = CC='$(CC)' LD='$(LD)' AR='$(AR)' NM='$(NM)' OBJCOPY='$(OBJCOPY)' OBJDUMP='$(OBJDUMP)' BUILT='$(BUILT)'

# A root's make install after a user's make slim builds nothing: it needs these two, and they are there.
SLIM = $(BUILT)/libsketchline.a $(MAN)

.PHONY: slim install uninstall deb

slim: $(SLIM) ## what make install installs, in build/dist

$(BUILT)/libsketchline.a: $(LIB) include/sketchline.h $(addprefix $(DIST)/,link functions version)
	@echo "link $(BUILT)/libsketchline.a and .so"
	@$(TOOLS) $(DIST)/link $(LIB) include/sketchline.h $(BUILT)

$(MAN): include/sketchline.h $(addprefix $(DIST)/,man.awk version)
	@rm -rf $(BUILT)/man
	@mkdir -p $(BUILT)/man
	@echo "man pages $(BUILT)/man"
	@awk -f $(DIST)/man.awk -v folder=$(BUILT)/man -v version=$$($(DIST)/version include/sketchline.h) include/sketchline.h

install: $(SLIM) ## the library, headers, pkg-config, CMake and man pages to PREFIX
	@$(TOOLS) $(DIST)/install install

uninstall: ## takes away what make install put there
	@$(TOOLS) $(DIST)/install uninstall

deb: $(SLIM) ## Debian packages, in build/dist
	@$(TOOLS) $(DIST)/deb/build
