/* What this CPU has beyond the level that the core is compiled for, and functions that are compiled once more for it.

   A function that gains by an extension is compiled a second time, between FI_BEGIN_TARGET and FI_END_TARGET or by
   FI_WITH_AVX512. Which of both a call takes is decided once, when the module is loaded: beside the variants stands

       static fi_reduce_rows *fi_reduce_rows_chosen;

       FI_AT_LOAD(fi_choose_reduce) {
           fi_reduce_rows_chosen = fi_cpu_has(FI_AVX512) ? fi_reduce_rows_avx512 : fi_reduce_rows_any;
       }

   and a call goes through the pointer. A variant requires the extensions that it uses and no other. The choice is code
   and no constant table of pointers: `fastinstall doctor` finds out from the machine code which functions run only
   after the CPU was asked, and a pointer in constant data can be called by anybody (ADR 0073). */

#ifndef FI_CPU_H
#define FI_CPU_H

/* Extensions that variants ask for. */
typedef enum {
    FI_AVX512 = 1,      /* AVX-512 F, BW, DQ and VL: vectors of 64 bytes */
    FI_AVX512_VNNI = 2, /* these and AVX-512 VNNI: bytes are multiplied four at a time, in 64 bytes */
    FI_AVX_VNNI = 4,    /* AVX2 and AVX-VNNI: the same in 32 bytes */
    FI_AVX512_VBMI = 8, /* AVX-512 as above, and VBMI: 64 bytes are looked up in tables of 128 */
    FI_CPU_ASKED = 1 << 30
} fi_extension;

/* A function that runs when the module is loaded. */
#define FI_AT_LOAD(name) static __attribute__((constructor)) void name(void)

#if defined(__x86_64__)
#include <cpuid.h>
#ifdef FI_TEST_SWITCHES
#include <stdlib.h>
#include <string.h>
#endif

#define FI_TO_PRAGMA(words) _Pragma(#words)
#define FI_AVX512_TARGET "avx512f,avx512bw,avx512vl,avx512dq"
#if defined(__clang__)
#define FI_FOR_AVX512 __attribute__((target(FI_AVX512_TARGET), min_vector_width(512)))
#define FI_BEGIN_TARGET(features)                                                                                      \
    FI_TO_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define FI_END_TARGET _Pragma("clang attribute pop")
#else
#define FI_FOR_AVX512 __attribute__((target(FI_AVX512_TARGET)))
#define FI_BEGIN_TARGET(features) _Pragma("GCC push_options") FI_TO_PRAGMA(GCC target(features))
#define FI_END_TARGET _Pragma("GCC pop_options")
#endif

/* One variable of the core: the linker merges those of its files. CPUID leaves a virtual machine, which takes long. */
__attribute__((weak, visibility("hidden"))) int fi_cpu_extensions = 0;

/* Ask the CPU. The system must save the registers too: bits 1 and 2 of XCR0 for AVX, 5 to 7 for AVX-512. Source: Intel
   SDM, volume 1, 15.2 to 15.4; AVX-VNNI: volume 2, CPUID, leaf 7, subleaf 1. */
static inline int fi_ask_cpu(void) {
    const UINT32 avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    UINT32 a, b, c, d, saved, high, more;
    int has = FI_CPU_ASKED;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return has;
    }
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    more = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return has;
    }
    if ((saved & 0xe6) == 0xe6 && (b & avx512) == avx512) {
        has |= FI_AVX512 | (c & 1u << 11 ? FI_AVX512_VNNI : 0) | (c & 1u << 1 ? FI_AVX512_VBMI : 0);
    }
    if ((saved & 6) == 6 && (b & 1u << 5) && a >= 1 && (more & 1u << 4)) {
        has |= FI_AVX_VNNI;
    }
#ifdef FI_TEST_SWITCHES /* a list of those that may be used: "avx512 avx512vnni avx512vbmi avxvnni" */
    const char *allowed = getenv("FI_EXTENSIONS");
    if (allowed) {
        has &= FI_CPU_ASKED | (strstr(allowed, "avx512") ? FI_AVX512 : 0) |
               (strstr(allowed, "avx512vnni") ? FI_AVX512_VNNI : 0) | (strstr(allowed, "avxvnni") ? FI_AVX_VNNI : 0) |
               (strstr(allowed, "avx512vbmi") ? FI_AVX512_VBMI : 0);
    }
#endif
    return has;
}

/* Whether the CPU has an extension. For FI_AT_LOAD: a module is loaded by one thread. */
static inline int fi_cpu_has(fi_extension wanted) {
    if (!fi_cpu_extensions) {
        fi_cpu_extensions = fi_ask_cpu();
    }
    return (fi_cpu_extensions & wanted) != 0;
}
#else
#define FI_FOR_AVX512
#define FI_AVX512_TARGET
#define FI_BEGIN_TARGET(features)
#define FI_END_TARGET
#define fi_cpu_has(wanted) 0
#endif

/* A function compiled once more, for AVX-512, with these parameters, called with these arguments. */
#define FI_WITH_AVX512(function, parameters, ...)                                                                      \
    static FI_FOR_AVX512 void function##_avx512 parameters {                                                           \
        function(__VA_ARGS__);                                                                                         \
    }

#endif
