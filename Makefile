# Makefile - builds, tests and installs mdf_c. GNU make.
#
#   make demo     what is needed, the programs, and a few examples with what they print
#   make test     the same, and all test suites; ends with "N passed, N failed"
#   make help     the other targets
#
# CC (gcc or clang), CFLAGS, LDFLAGS, PREFIX, DESTDIR may be set; WERROR=1 makes warnings errors; SANITIZE=address or
# undefined builds with that sanitizer; BUILD is the folder for all that is made.
# A source joins the library by lying in one of its folders, a suite by being named test_*.c in one of those of tests.

ifeq ($(origin CC),default)
CC := gcc
endif
# With a sanitizer in them, kernels take minutes to compile unless they are left as they are written.
CFLAGS ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
PREFIX ?= /usr/local
BUILD ?= build
VALGRIND ?= valgrind
SHELL := /bin/bash

VERSION := $(shell sed -n 's/^.define MDF_VERSION "\(.*\)"/\1/p' mdf_c/mdf.h)
# Rises with every change that breaks programs linked with the shared library.
SONAME := libmdf.so.0

# ---------------------------------------------------------------- sources

LIBRARY_FOLDERS := $(addprefix mdf_c/,base tensor document expression dialect model code lowered machine lower plan run source values export write pictures api) schemas functions
# Decoders of images, each there where its library is: a file functions/image/decode_FORMAT.c.
IMAGE_LIBRARIES := jpeg/libjpeg png/libpng webp/libwebp jpeg2000/libopenjp2 tiff/libtiff-4>=4.5
found = $(if $(shell pkg-config --exists '$(subst >=, >= ,$(notdir $(1)))' 2>/dev/null && echo yes),$(1))
IMAGE_FOUND := $(foreach pair,$(IMAGE_LIBRARIES),$(call found,$(pair)))
IMAGE_FORMATS := $(patsubst %/,%,$(dir $(IMAGE_FOUND)))
IMAGE_ABSENT := $(filter-out $(IMAGE_FORMATS),$(patsubst %/,%,$(dir $(IMAGE_LIBRARIES))))
IMAGE_FLAGS := $(foreach format,$(IMAGE_FORMATS),-DMDF_IMAGE_$(shell echo $(format) | tr a-z A-Z))
# SUNDIALS' CVODES, which pkg-config does not know in Debian.
SOLVER_LIBRARIES := $(if $(shell echo | $(CC) -include cvodes/cvodes.h -E -xc - >/dev/null 2>&1 && echo yes),cvodes/sundials_cvodes)
SOLVER_ABSENT := $(addprefix mdf_c/run/solve/,$(if $(SOLVER_LIBRARIES),solve_absent.c,solve_cvode.c cvode_events.c cvode_jacobian.c cvode_library.c cvode_sensitivities.c))
LIBRARY_SOURCES := $(filter-out $(SOLVER_ABSENT) $(IMAGE_ABSENT:%=functions/image/decode_%.c),$(sort $(shell find $(LIBRARY_FOLDERS) -name '*.c' 2>/dev/null)))
# One executable, mdf-run, which is the others under their names.
PROGRAM_NAMES := run convert compile fmu merge diff
PROGRAM_MAINS := mdf_c/cli/programs.c $(PROGRAM_NAMES:%=mdf_c/cli/mdf_%.c)
PROGRAM_SHARED_SOURCES := $(sort $(filter-out $(PROGRAM_MAINS),$(shell find mdf_c/cli -name '*.c')))
SUITE_SOURCES := $(sort $(wildcard tests/*/test_*.c))
comma := ,
CRITERION_START := tests/support/criterion_start.c
SUITE_SHARED_SOURCES := $(sort $(filter-out $(CRITERION_START),$(wildcard tests/support/*.c)))
# Criterion's processes do not go with the thread sanitizer, and it may not be there for another processor: tests/alone stands in for it.
RUNS_ALONE := $(or $(ALONE),$(filter thread,$(SANITIZE)))
SUITE_SHARED_SOURCES += $(if $(RUNS_ALONE),tests/alone/alone.c)

# fuzz/libfuzzer.c needs clang's libFuzzer, the rest nothing more than the library does.
FUZZ_SOURCES := $(filter-out fuzz/libfuzzer.c,$(sort $(wildcard fuzz/*.c)))
RANDOM_SOURCES := $(sort $(wildcard tests/random/*.c))

objects = $(patsubst %.c,$(BUILD)/objects/%.o,$(1))
GENERATED_OBJECTS := $(BUILD)/objects/generated/onnx.pb-c.o
LIBRARY_OBJECTS := $(call objects,$(LIBRARY_SOURCES)) $(GENERATED_OBJECTS)
PROGRAM_SHARED_OBJECTS := $(call objects,$(PROGRAM_SHARED_SOURCES))
SUITE_SHARED_OBJECTS := $(call objects,$(SUITE_SHARED_SOURCES))
ALL_OBJECTS := $(call objects,$(LIBRARY_SOURCES) $(PROGRAM_MAINS) $(PROGRAM_SHARED_SOURCES) $(SUITE_SOURCES) $(SUITE_SHARED_SOURCES) \
    $(CRITERION_START) $(FUZZ_SOURCES) fuzz/libfuzzer.c $(RANDOM_SOURCES))

STATIC_LIBRARY := $(BUILD)/libmdf.a
SHARED_LIBRARY := $(BUILD)/libmdf.so
# What suites run with: the library with all of its symbols, and what suites share. A change in it makes no suite anew.
SUITE_LIBRARY := $(BUILD)/libmdf_suites.so
FUZZ_OBJECTS := $(call objects,$(filter-out fuzz/fuzz.c,$(FUZZ_SOURCES))) $(PROGRAM_SHARED_OBJECTS)
PROGRAMS := $(PROGRAM_NAMES:%=$(BUILD)/mdf-%)
# Programs of the Python package, which a script starts.
SCRIPTS := $(BUILD)/mdf-fit
SUITES := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(SUITE_SOURCES)))
OPERATOR_TABLES := build/generated/operator_tables.inc
HELPER_TEXTS := build/generated/helper_texts.inc
FMU_TEXTS := build/generated/fmu_texts.inc
PLUGIN_TEXTS := build/generated/plugin_texts.inc
ONNX_MESSAGES := build/generated/onnx.pb-c
# Of each build: another processor may have others.
LATE_NAMES := $(BUILD)/generated/late_libraries.h
EXPORTED := build/generated/exported.map

# ---------------------------------------------------------------- flags

# Looked up when first needed, so that "make deps" and "make help" work without the libraries; and once.
LIBRARY_PACKAGES := yaml-0.1 libcjson libbson-1.0 libprotobuf-c libpcre2-8
# Libraries that are loaded when they are needed (mdf_c/base/late_library.h), not linked with.
LATE_LIBRARIES := zip/libzip $(foreach pair,$(IMAGE_FOUND),$(firstword $(subst >=, ,$(pair))))
SUITE_PACKAGES := $(if $(RUNS_ALONE),,criterion) jansson
once = $(eval $(1) := $(2))$($(1))
package_flags = $(call once,package_flags,$(shell pkg-config --cflags $(LIBRARY_PACKAGES) $(notdir $(LATE_LIBRARIES)) $(SUITE_PACKAGES) | sed 's/-I/-isystem /g'))
package_libraries = $(call once,package_libraries,$(shell pkg-config --libs $(LIBRARY_PACKAGES)) -ldl)
suite_libraries = $(call once,suite_libraries,$(shell pkg-config --libs $(SUITE_PACKAGES)))
# The name by which Criterion asks for libgit2.
libgit2_name = $(call once,libgit2_name,$(shell readelf -d "$$($(CC) -print-file-name=libcriterion.so)" 2>/dev/null | sed -n 's/.*NEEDED.*\[\(libgit2\.so[^]]*\)\].*/\1/p'))

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes \
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wno-missing-field-initializers $(if $(WERROR),-Werror)
# What makes a mistake in memory end in an error instead of foreign code (SECURITY.md). The sanitizers have their own ways, and
# _FORTIFY_SOURCE needs an optimising compiler; who sets it in CFLAGS means it.
IS_OPTIMISED := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
ifndef SANITIZE
HARDEN_FLAGS := -fstack-protector-strong \
    $(if $(findstring _FORTIFY_SOURCE,$(CFLAGS)),,$(if $(IS_OPTIMISED),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
endif
HARDEN_LINK_FLAGS := -Wl,-z,relro,-z,now,-z,noexecstack
# Calls within the library go straight to what it defines, as with hidden symbols; $(EXPORTED) leaves mdf.h's alone in the shared library.
# One result on every machine: no fused multiply-add unless a kernel asks for it, no -ffast-math, no -march=native.
# 32 bits: files may be longer than 2 GiB, and checks of sizes that can not be there are none.
HAS_32_BITS := $(shell $(CC) -dM -E - </dev/null 2>/dev/null | grep 'SIZEOF_POINTER__ 4')
COMPILE_FLAGS := -std=gnu11 -I. $(if $(filter $(abspath build),$(abspath $(BUILD))),,-I$(BUILD)/generated) -Ibuild/generated -fPIC -fvisibility=protected -ffp-contract=off -ftree-vectorize -pthread $(WARNINGS) $(HARDEN_FLAGS)$(if $(HAS_32_BITS), -D_FILE_OFFSET_BITS=64 -Wno-type-limits) $(CFLAGS)
ifdef SANITIZE
COMPILE_FLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
LINK_FLAGS := -fsanitize=$(SANITIZE)
endif
$(BUILD)/objects/tests/%.o: FILE_FLAGS := $(if $(RUNS_ALONE),-isystem tests/alone -Wno-gnu-zero-variadic-macro-arguments)
# Loops over elements: neither flag changes a result; both let more loops become vectors. To say where each of their variables is
# takes the compiler as long as the rest: line numbers do.
KERNEL_FLAGS := $(if $(SANITIZE),-O0,-O3 $(if $(filter -g%,$(CFLAGS)),-g1)) -fno-math-errno -fno-trapping-math
$(BUILD)/objects/functions/%.o $(BUILD)/objects/mdf_c/tensor/dtype_convert.o: \
	FILE_FLAGS := $(if $(filter -O0 -Og,$(CFLAGS)),,$(KERNEL_FLAGS))
# gcc would write loops of products twice, once for rows that lie side by side, and copy all sums in each run for what is behind both.
ONE_LOOP := $(if $(SANITIZE),,$(shell $(CC) -Werror -fno-version-loops-for-strides -E - </dev/null >/dev/null 2>&1 && echo -fno-version-loops-for-strides))
$(BUILD)/objects/functions/products/gemm/gemm_%.o: FILE_FLAGS += $(ONE_LOOP)
# Loops of a few instructions, which take a seventh to a third longer where one lies across the end of a line: what else is in the file, or
# before it in the library, decided that.
$(addprefix $(BUILD)/objects/functions/,elements/vectors/vector_rows.o elements/vectors/vector_math_avx2.o folds/order.o folds/ordering.o folds/softmax.o moves/along.o quantised/quantize.o) \
	$(BUILD)/objects/mdf_c/tensor/dtype_convert.o: FILE_FLAGS += $(if $(SANITIZE),,-falign-loops=64)

# ---------------------------------------------------------------- targets

.PHONY: all deps demo test python-tests wheel check-wheel check-install bench check-asan check-ubsan check-tsan check-vectors check-target check-failing preload check-random check-numpy check-broken check-derivatives check-against check-fuzz check-valgrind check-psyneulink check-fmu coverage fuzz fuzzers fuzz-corpus node-tests layers install uninstall format lint clean help suites programs print-programs force
.DELETE_ON_ERROR:
.SECONDARY:

ifdef SANITIZE
all: $(PROGRAMS) $(SCRIPTS) $(STATIC_LIBRARY)
else
all: $(PROGRAMS) $(SCRIPTS) $(STATIC_LIBRARY) $(SHARED_LIBRARY)
endif

help:
	@echo "demo test all deps bench wheel check-asan check-ubsan check-tsan check-vectors check-target check-failing check-random check-numpy check-broken check-derivatives check-against check-fuzz check-valgrind check-psyneulink check-fmu check-install check-wheel coverage fuzz fuzz-corpus node-tests layers install uninstall format lint clean"

deps:
	@tools/install_dependencies.sh

# The two commands that a newcomer types get the dependencies first, then start over with make knowing of them; on all processors, unless
# the caller said how many jobs there are.
ALL_JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
demo: deps
	@$(MAKE) --no-print-directory $(ALL_JOBS) all
	@BUILD=$(BUILD) tools/demo.sh

test: deps
	@$(MAKE) --no-print-directory $(ALL_JOBS) all suites
	@status=0; tools/check_layers.sh || status=1; tools/check_symbols.sh $(BUILD)/objects $(LIBRARY_OBJECTS) || status=1; BUILD=$(BUILD) WITH_PYTHON=$(if $(SANITIZE),,1) tools/run_suites.sh $(SUITES) || status=1; exit $$status

programs: $(PROGRAMS)

print-programs:
	@echo $(notdir $(PROGRAMS))

suites: $(PROGRAMS) $(SUITES) $(BUILD)/random/run_ways preload

# What makes memory and files refuse, for tests/run/test_failing.c and check-failing.
PRELOADS := $(patsubst tests/%.c,$(BUILD)/tests/%.so,$(sort $(wildcard tests/preload/*.c)))
preload: $(PRELOADS)

$(BUILD)/tests/preload/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) -std=gnu11 -O2 -fPIC -shared $(WARNINGS) -o $@ $< -ldl

# Every allocation fails, and every call that changes a file. SECONDS: for each command (tools/check_failing.sh).
check-failing: all preload
	@BUILD=$(BUILD) tools/check_failing.sh $(SECONDS)

layers: $(LIBRARY_OBJECTS)
	@tools/check_layers.sh && tools/check_symbols.sh $(BUILD)/objects $(LIBRARY_OBJECTS)

# The Python package: its tests, and a wheel with the engine inside (in build/wheel; needs Python's build package).
python-tests: all
	@BUILD=$(BUILD) tools/run_python_tests.sh

# TARGET=arm64: for another processor (tools/check_target.sh); check-wheel runs tests of it under qemu-user.
wheel:
	@$(if $(TARGET),MDF_C_WHEEL_TARGET=$(TARGET)) python3 -m build --wheel --outdir $(BUILD)/wheel python

check-wheel:
	@TARGET=$(TARGET) tools/check_wheel.sh

# What "make install" puts into a folder, used from there: by pkg-config, C++, CMake; and that uninstall takes all of it away.
check-install: all
	@BUILD=$(BUILD) CC="$(CC)" tools/check_install.sh

# Compositions of PsyNeuLink by the live door, against PsyNeuLink itself. PSYNEULINK: the Python that has it. TEST_MDF: PsyNeuLink's own
# test_mdf.py, run with this engine too.
PSYNEULINK ?= python3
check-psyneulink: all
	@MDF_C_BUILD=$(abspath $(BUILD)) PYTHONPATH=python $(PSYNEULINK) tests/psyneulink/check_live.py $(NAMES)
	@MDF_C_BUILD=$(abspath $(BUILD)) PYTHONPATH=python $(PSYNEULINK) tests/psyneulink/check_coverage.py
	@MDF_C_BUILD=$(abspath $(BUILD)) PYTHONPATH=python $(PSYNEULINK) tests/psyneulink/check_random.py --seeds $(or $(SEEDS),50) --from $(or $(FROM),0)
	@$(if $(TEST_MDF),MDF_C_BUILD=$(abspath $(BUILD)) PYTHONPATH=python $(PSYNEULINK) tests/psyneulink/check_test_mdf.py $(TEST_MDF))

# Every example that has a form in C as an FMU, by FMPy.
check-fmu: all
	@cd python && MDF_C_BUILD=$(abspath $(BUILD)) FMU_EXAMPLES=all $(or $(shell tools/find_python.sh),python3) -m pytest -q -p no:cacheprovider tests/test_fmu.py

# ONNX's own node tests, by the Python package onnx.
node-tests: $(BUILD)/mdf-run
	@python3 tests/calls/run_node_tests.py --mdf-run $(BUILD)/mdf-run --expected tests/calls/node_tests_not_yet.txt

# Speed beside other engines and hand-written C, to bench/results.md; BENCH_FLAGS: see bench/README.md.
bench: $(BUILD)/mdf-run $(SHARED_LIBRARY) $(BUILD)/bench/libhandwritten.so
	@BUILD=$(BUILD) CC="$(CC)" python3 bench/run.py $(BENCH_FLAGS)

# lanes.py and work_precision.py compile theirs themselves: for one type of reals, with CVODE.
BENCH_OBJECTS := $(patsubst bench/c/%.c,$(BUILD)/bench/%.o,$(filter-out %/lanes.c %/hodgkin_huxley_cvode.c,$(wildcard bench/c/*.c)))
# Nets may sum in any order, which lets loops over tanh become vectors; the rest gives the same bits everywhere.
$(BUILD)/bench/nets.o: BENCH_FLOATS := -ffast-math
$(BUILD)/bench/%.o: BENCH_FLOATS ?= -ffp-contract=off
$(BUILD)/bench/%.o: bench/c/%.c bench/c/handwritten.h mdf_c/mdf.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O3 -march=native -fPIC -I. $(WARNINGS) $(BENCH_FLOATS) -c -o $@ $<

$(BUILD)/bench/libhandwritten.so: $(BENCH_OBJECTS)
	$(CC) -shared -o $@ $^ -lm

check-asan:
	@$(MAKE) --no-print-directory suites BUILD=build/asan SANITIZE=address
	@BUILD=build/asan tools/run_suites.sh $(patsubst $(BUILD)/%,build/asan/%,$(SUITES))

# By clang where there is one, which looks at more than gcc: offsets from NULL, reals that an integer does not hold.
check-ubsan:
ifneq ($(shell command -v clang),)
	@$(MAKE) --no-print-directory suites BUILD=build/ubsan CC=clang SANITIZE=undefined,float-cast-overflow
else
	@$(MAKE) --no-print-directory suites BUILD=build/ubsan SANITIZE=undefined
endif
	@BUILD=build/ubsan tools/run_suites.sh $(patsubst $(BUILD)/%,build/ubsan/%,$(SUITES))

# Lines and branches that the tests reach, by folder. More random models are compiled than in make test; without test_failing, which counts
# calls that change files, and those that write the counts would be among them.
COVERED_SUITES := $(filter-out %/test_failing,$(patsubst $(BUILD)/%,build/coverage/%,$(SUITES)))
coverage:
	@$(MAKE) --no-print-directory all suites BUILD=build/coverage CFLAGS="-Og -g --coverage -fprofile-update=atomic" LDFLAGS=--coverage
	@find build/coverage -name '*.gcda' -delete
	@status=0; RANDOM_SEEDS=600 RANDOM_COMPILE_EVERY=4 BUILD=build/coverage WITH_PYTHON=1 tools/run_suites.sh $(COVERED_SUITES) || status=1; \
	    python3 tools/coverage.py build/coverage || status=1; exit $$status

# Kernels are written for vectors of 64, 32 and 16 bytes; those that the processor would not choose are tested too.
VECTOR_BYTES := 32 16
check-vectors:
	@for width in $(VECTOR_BYTES); do \
	    $(MAKE) --no-print-directory suites BUILD=build/vectors CFLAGS="-O1 -DMDF_VECTOR_BYTES=$$width" && \
	    BUILD=build/vectors tools/run_suites.sh $(patsubst $(BUILD)/%,build/vectors/%,$(SUITES)) || exit 1; \
	done

# Another processor, under qemu-user: TARGET=armhf (32 bits), s390x (big-endian), arm64; SUITES_THERE: default nearly all.
check-target:
	@tools/check_target.sh $(or $(TARGET),armhf) $(SUITES_THERE)

# Random models by every way the engine has, and against other engines: tests/random/README.md. SEEDS: how many, FROM: the first,
# JOBS: processes.
check-random: $(BUILD)/random/run_ways $(if $(SANITIZE),,$(SHARED_LIBRARY) $(BUILD)/mdf-run)
	@BUILD=$(BUILD) python3 tests/random/check_random.py --seeds $(or $(SEEDS),1000) --from $(or $(FROM),0) --jobs $(or $(JOBS),$(shell nproc)) $(RANDOM_FLAGS)

# Random expressions, compared with Python and numpy.
check-numpy: $(SHARED_LIBRARY)
	@BUILD=$(BUILD) python3 tests/random/check_numpy.py --seeds $(or $(SEEDS),3000) --from $(or $(FROM),0) $(RANDOM_FLAGS)

# Random models with mistakes in them, by a build for the address sanitizer.
check-broken:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address $(BUILD)/asan/mdf-run
	@BUILD=$(BUILD)/asan python3 tests/random/check_broken.py --seeds $(or $(SEEDS),1000) --from $(or $(FROM),0) $(RANDOM_FLAGS)

# Derivatives of all operators, first and second, and of random models, against differences.
check-derivatives: $(SHARED_LIBRARY)
	@BUILD=$(BUILD) python3 tests/derivatives/check_derivatives.py --second
	@BUILD=$(BUILD) python3 tests/derivatives/check_derivatives.py --inside
	@BUILD=$(BUILD) python3 tests/random/check_gradients.py --models $(or $(SEEDS),200) --from $(or $(FROM),0)

check-against: $(BUILD)/random/run_ways $(SHARED_LIBRARY)
	@BUILD=$(BUILD) python3 tests/random/check_against.py --seeds $(or $(SEEDS),200) --from $(or $(FROM),0) --jobs $(or $(JOBS),$(shell nproc)) $(RANDOM_FLAGS)
	@MDF_C_BUILD=$(abspath $(BUILD)) PYTHONPATH=python python3 bench/gradient_cost.py --check

# Threads that share a program, load and compile at once, sweep, are interrupted; threads of one evaluation.
THREAD_SUITES := test_threads test_parallel test_concurrent test_sweep test_store test_late_library
check-tsan:
	@$(MAKE) --no-print-directory $(THREAD_SUITES:%=build/tsan/tests/%) BUILD=build/tsan CC=clang SANITIZE=thread
	@TSAN_OPTIONS=die_after_fork=0 BUILD=build/tsan tools/run_suites.sh $(THREAD_SUITES:%=build/tsan/tests/%)

# libFuzzer's entry points in fuzz/libfuzzer.c, one name a target: see fuzz/README.md. Needs clang.
FUZZ_TARGETS := json yaml bson onnx source expression inputs sweep numpy image
SECONDS ?= 30
fuzz: fuzzers
	@tools/run_fuzzers.sh build/libfuzzer $(SECONDS) $(or $(TARGET),$(FUZZ_TARGETS))

fuzzers:
	@$(MAKE) --no-print-directory build/libfuzzer/fuzzers BUILD=build/libfuzzer CC=clang SANITIZE=fuzzer-no-link,address,undefined

# What is found is kept: the fewest inputs that reach all that those of build/libfuzzer/corpus do.
fuzz-corpus: fuzzers
	@tools/run_fuzzers.sh build/libfuzzer minimise $(or $(TARGET),$(FUZZ_TARGETS))

# FUZZ_FILES: files and folders that inputs are made of; see fuzz/README.md for the rest.
check-fuzz:
	@$(MAKE) --no-print-directory build/fuzz/fuzz BUILD=build/fuzz SANITIZE=address,undefined
	@tools/check_fuzz.sh build/fuzz/fuzz $(FUZZ_FILES)

check-valgrind: $(BUILD)/mdf-run
	@VALGRIND="$(VALGRIND)" BUILD=$(BUILD) tools/check_valgrind.sh

format:
	clang-format -i $(shell find mdf_c functions schemas tests fuzz -name '*.c' -o -name '*.h')

lint:
	@tools/lint.sh

clean:
	rm -rf build

# ---------------------------------------------------------------- rules

# What objects depend on besides their sources: the compiler and its flags. Rewritten only when they change.
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@echo '$(CC) $(shell $(CC) -dumpfullversion -dumpversion) $(COMPILE_FLAGS) $(KERNEL_FLAGS) $(HARDEN_LINK_FLAGS) $(LINK_FLAGS)' > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# What goes into libraries and programs: a source that is added or deleted makes them anew.
$(BUILD)/object_list: force
	@mkdir -p $(@D)
	@echo '$(LIBRARY_OBJECTS) $(PROGRAM_SHARED_OBJECTS) $(SUITE_SHARED_OBJECTS)' > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The libraries for images that were found: another set makes the operator anew.
$(BUILD)/image_formats: force
	@mkdir -p $(@D)
	@echo '$(IMAGE_FLAGS)' > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# What the loader knows the late libraries by; replaced only when it changes.
$(LATE_NAMES): tools/list_late_libraries.sh $(BUILD)/image_formats
	@mkdir -p $(@D)
	@CC="$(CC)" tools/list_late_libraries.sh $(LATE_LIBRARIES) $(SOLVER_LIBRARIES) > $@.new.$$$$ && if cmp -s $@.new.$$$$ $@; then rm $@.new.$$$$; else mv $@.new.$$$$ $@; fi

$(BUILD)/objects/functions/image/image_decoder.o: FILE_FLAGS += $(IMAGE_FLAGS)
$(BUILD)/objects/functions/image/image_decoder.o: $(BUILD)/image_formats

# The list of operator tables, read off the sources; replaced only when it changes.
$(OPERATOR_TABLES): tools/list_operator_tables.sh $(filter functions/%,$(LIBRARY_SOURCES))
	@mkdir -p $(@D)
	@tools/list_operator_tables.sh > $@.new.$$$$ && if cmp -s $@.new.$$$$ $@; then rm $@.new.$$$$; else mv $@.new.$$$$ $@; fi

$(BUILD)/objects/functions/kernel/registry.o: $(OPERATOR_TABLES)

# Helpers of functions of elements, and routines, as texts for generated C.
$(HELPER_TEXTS): tools/list_helper_texts.sh functions/elements/element_helpers.h functions/elements/float32_functions.inc \
    functions/elements/float64_tables.inc functions/elements/float64_functions.inc mdf_c/tensor/half_floats.inc \
    mdf_c/tensor/small_floats.inc $(shell find functions -name '*_routine.inc')
	@mkdir -p $(@D)
	@tools/list_helper_texts.sh > $@.new.$$$$ && mv $@.new.$$$$ $@

$(BUILD)/objects/mdf_c/source/source_helpers.o: $(HELPER_TEXTS)

# What kernels of plugins see, as a text.
$(PLUGIN_TEXTS): tools/list_plugin_texts.sh mdf_c/mdf.h
	@mkdir -p $(@D)
	@tools/list_plugin_texts.sh > $@.new.$$$$ && mv $@.new.$$$$ $@

$(BUILD)/objects/mdf_c/source/source_custom.o: $(PLUGIN_TEXTS)

# What FMUs have in common, as texts.
$(FMU_TEXTS): tools/list_fmu_texts.sh $(wildcard mdf_c/cli/fmu/runtime/*.inc)
	@mkdir -p $(@D)
	@tools/list_fmu_texts.sh > $@.new.$$$$ && mv $@.new.$$$$ $@

$(BUILD)/objects/mdf_c/cli/fmu/fmu_source.o: $(FMU_TEXTS)

# The messages of ONNX files, as protobuf-c declares and reads them. Its code is not held to this project's warnings.
$(ONNX_MESSAGES).c: mdf_c/document/onnx/onnx.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)

$(ONNX_MESSAGES).h: $(ONNX_MESSAGES).c ;

$(BUILD)/objects/generated/%.o: build/generated/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(VERBOSE),,@echo "  CC   $<" &&) $(CC) $(COMPILE_FLAGS) -w $(call package_flags) -MMD -MP -c -o $@ $<

$(BUILD)/objects/%.o: %.c $(BUILD)/flags | $(ONNX_MESSAGES).h $(LATE_NAMES)
	@mkdir -p $(@D)
	$(if $(VERBOSE),,@echo "  CC   $<" &&) $(CC) $(COMPILE_FLAGS) $(FILE_FLAGS) $(call package_flags) -MMD -MP -c -o $@ $<

$(STATIC_LIBRARY): $(LIBRARY_OBJECTS) $(BUILD)/object_list
	@rm -f $@
	$(if $(VERBOSE),,@echo "  AR   $@" &&) $(AR) rcs $@ $(LIBRARY_OBJECTS)

$(EXPORTED): mdf_c/mdf.h
	@mkdir -p $(@D)
	@{ echo '{ global:'; sed -n 's/^MDF_API [^(]*[ *]\(mdf_[a-z0-9_]*\)(.*/\1;/p' $<; echo 'local: *; };'; } > $@

$(SHARED_LIBRARY): $(LIBRARY_OBJECTS) $(BUILD)/object_list $(EXPORTED)
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) -shared -Wl,-soname,$(SONAME) -Wl,--no-undefined -Wl,--version-script=$(EXPORTED) $(HARDEN_LINK_FLAGS) $(LINK_FLAGS) $(LDFLAGS) -o $@.$(VERSION) \
	    $(LIBRARY_OBJECTS) $(call package_libraries) -lm -lpthread
	@ln -sf libmdf.so.$(VERSION) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/mdf-run: $(call objects,$(PROGRAM_MAINS)) $(PROGRAM_SHARED_OBJECTS) $(STATIC_LIBRARY) $(BUILD)/object_list
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) -pie $(HARDEN_LINK_FLAGS) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STATIC_LIBRARY) \
	    $(call package_libraries) -lm -lpthread -ldl

$(filter-out $(BUILD)/mdf-run,$(PROGRAMS)): $(BUILD)/mdf-run
	@ln -sf $(<F) $@

$(BUILD)/mdf-fit: tools/mdf-fit.sh
	@mkdir -p $(@D)
	@sed 's|@PACKAGE@|$(CURDIR)/python|g; s|@BUILD@|$(abspath $(BUILD))|g' $< > $@.new && chmod 755 $@.new && mv $@.new $@

$(BUILD)/fuzz: $(call objects,fuzz/fuzz.c) $(FUZZ_OBJECTS) $(STATIC_LIBRARY) $(BUILD)/object_list
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STATIC_LIBRARY) $(call package_libraries) -lm -lpthread

# What tests/support/early_code.c stands before.
EARLY_CODE_FLAGS := -Wl,--wrap=mdf_code_price -Wl,--wrap=mdf_time_for_threads

$(BUILD)/random/run_ways: $(call objects,$(RANDOM_SOURCES) tests/support/early_code.c) $(PROGRAM_SHARED_OBJECTS) $(STATIC_LIBRARY) $(BUILD)/object_list
	@mkdir -p $(@D)
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) $(LINK_FLAGS) $(LDFLAGS) $(EARLY_CODE_FLAGS) -o $@ $(filter %.o,$^) $(STATIC_LIBRARY) $(call package_libraries) \
	    -lm -lpthread -ldl

# One program; a name of its own for each target.
$(BUILD)/fuzzers: $(call objects,fuzz/libfuzzer.c) $(FUZZ_OBJECTS) $(STATIC_LIBRARY) $(BUILD)/object_list
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) $(subst fuzzer-no-link,fuzzer,$(LINK_FLAGS)) $(LDFLAGS) -o $@ $(filter %.o,$^) $(STATIC_LIBRARY) \
	    $(call package_libraries) -lm -lpthread
	@for target in $(FUZZ_TARGETS); do ln -f $@ $(BUILD)/fuzz_$$target; done

# What tests/support/refused_pieces.c stands before.
WRAPPED := mdf_arena_allocate mdf_arena_array mdf_arena_text mdf_arena_printf mdf_arena_vprintf mdf_memory_allocate mdf_memory_allocate_zeroed mdf_memory_resize mdf_memory_grow \
    list_add
WRAP_FLAGS := $(WRAPPED:%=-Wl,--wrap=%) $(EARLY_CODE_FLAGS)
SUITE_LIBRARY_OBJECTS := $(LIBRARY_OBJECTS) $(SUITE_SHARED_OBJECTS) $(FUZZ_OBJECTS)
$(SUITE_LIBRARY): $(SUITE_LIBRARY_OBJECTS) $(BUILD)/object_list
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) -shared -Wl,-soname,$(notdir $@) $(LINK_FLAGS) $(LDFLAGS) $(WRAP_FLAGS) -o $@ $(SUITE_LIBRARY_OBJECTS) \
	    $(call package_libraries) $(call suite_libraries) -lm -lpthread

# In the place, and by the name, of what Criterion would load.
SUITE_START := $(if $(RUNS_ALONE),,$(BUILD)/criterion_start.stamp)
$(BUILD)/criterion_start.stamp: $(call objects,$(CRITERION_START))
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(if $(libgit2_name),$(CC) -shared -Wl$(comma)-soname$(comma)$(libgit2_name) $(LINK_FLAGS) $(LDFLAGS) -o $(BUILD)/$(libgit2_name) $<,:)
	@touch $@
SUITE_START_LIBRARY = $(if $(SUITE_START),$(libgit2_name:%=-Wl,--push-state,--no-as-needed $(BUILD)/% -Wl,--pop-state))

# The library for suites is made before a suite is, but a newer one does not make it anew.
$(foreach source,$(SUITE_SOURCES),$(eval $(BUILD)/tests/$(basename $(notdir $(source))): $(call objects,$(source))))
$(SUITES): $(BUILD)/flags $(SUITE_START) | $(SUITE_LIBRARY)
	@mkdir -p $(@D)
	$(if $(VERBOSE),,@echo "  LINK $@" &&) $(CC) $(LINK_FLAGS) $(LDFLAGS) $(WRAP_FLAGS) -o $@ $(filter %.o,$^) $(SUITE_LIBRARY) $(SUITE_START_LIBRARY) -Wl,-rpath,'$$ORIGIN/..' \
	    $(call package_libraries) $(call suite_libraries) -lm -lpthread

-include $(ALL_OBJECTS:.o=.d)

# ---------------------------------------------------------------- installation

LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/mdf
CMAKEDIR ?= $(LIBDIR)/cmake/mdf
CMAKE_FILES := tools/mdf-config.cmake tools/mdf-config-version.cmake
# Made by the programs themselves, from the tables of their options; a program that this machine can not run has none.
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d
COMPLETIONS := $(foreach program,$(notdir $(PROGRAMS) $(SCRIPTS)),$(BASH_COMPLETIONS)/$(program) $(ZSH_COMPLETIONS)/_$(program) $(FISH_COMPLETIONS)/$(program).fish)
MANUALS := $(patsubst %,mdf-%.1,$(PROGRAM_NAMES) fit)
INSTALLED := $(PROGRAMS:$(BUILD)/%=$(BINDIR)/%) $(BINDIR)/mdf-fit $(LIBDIR)/libmdf.a $(LIBDIR)/libmdf.so $(LIBDIR)/$(SONAME) \
    $(LIBDIR)/libmdf.so.$(VERSION) $(LIBDIR)/pkgconfig/mdf.pc $(CMAKE_FILES:tools/%=$(CMAKEDIR)/%) $(INCLUDEDIR)/mdf.h $(MANUALS:%=$(MANDIR)/man1/%) \
    $(DATADIR)/mdf.schema.json $(COMPLETIONS)

define PKG_CONFIG_FILE
prefix=$(PREFIX)
libdir=$(LIBDIR)
includedir=$(INCLUDEDIR)

Name: mdf
Description: A native engine for MDF (ModECI Model Description Format) models
Version: $(VERSION)
Requires.private: $(LIBRARY_PACKAGES)
Libs: -L$${libdir} -lmdf
Libs.private: -lm -lpthread -ldl
Cflags: -I$${includedir}
endef
export PKG_CONFIG_FILE

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(CMAKEDIR) $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(DATADIR) $(DESTDIR)$(MANDIR)/man1
	install $(BUILD)/mdf-run $(DESTDIR)$(BINDIR)
	for name in $(filter-out mdf-run,$(notdir $(PROGRAMS))); do ln -sf mdf-run $(DESTDIR)$(BINDIR)/$$name || exit 1; done
	sed 's|@PACKAGE@||g; s|@BUILD@||g' tools/mdf-fit.sh > $(DESTDIR)$(BINDIR)/mdf-fit && chmod 755 $(DESTDIR)$(BINDIR)/mdf-fit
	install -m 644 $(STATIC_LIBRARY) $(SHARED_LIBRARY).$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libmdf.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libmdf.so
	echo "$$PKG_CONFIG_FILE" > $(DESTDIR)$(LIBDIR)/pkgconfig/mdf.pc
	for file in $(CMAKE_FILES); do \
	    sed 's|@VERSION@|$(VERSION)|; s|@MAJOR@|$(firstword $(subst ., ,$(VERSION)))|; s|@SONAME@|$(SONAME)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' $$file \
	        > $(DESTDIR)$(CMAKEDIR)/$${file##*/} || exit 1; \
	done
	install -m 644 mdf_c/mdf.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 schemas/mdf.schema.json $(DESTDIR)$(DATADIR)
	install -m 644 $(MANUALS:%=docs/man/%) $(DESTDIR)$(MANDIR)/man1
	install -d $(DESTDIR)$(BASH_COMPLETIONS) $(DESTDIR)$(ZSH_COMPLETIONS) $(DESTDIR)$(FISH_COMPLETIONS)
	for program in $(PROGRAMS) $(SCRIPTS); do name=$${program##*/}; $$program --version > /dev/null 2>&1 || continue; \
	    $$program --completion bash > $(DESTDIR)$(BASH_COMPLETIONS)/$$name && $$program --completion zsh > $(DESTDIR)$(ZSH_COMPLETIONS)/_$$name && \
	    $$program --completion fish > $(DESTDIR)$(FISH_COMPLETIONS)/$$name.fish || exit 1; \
	done
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig 2>/dev/null || true # so that the loader knows of the library

uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
