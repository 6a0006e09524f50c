/* Which extensions this CPU has beyond the level that the core is compiled for, and how functions are compiled once
   more for them.

   A function that gains by an extension has several variants: one for the core's level (`_any`), and one for each
   extension (`_avx512`, say), compiled by FI_WITH_AVX512 or between FI_BEGIN_TARGET and FI_END_TARGET. Which of them is
   called is decided once, when the module is loaded. A kernel has a pointer for that, as in filter.c,

       static void (*fi_filter_chosen)(Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring);

       FI_AT_LOAD(fi_choose_filter) {
           fi_filter_chosen = fi_cpu_has(FI_AVX512) ? fi_filter_rows_avx512 : fi_filter_rows_any;
       }

   and calls through it. A variant requires the extensions that it uses and no other. The choice is code and no constant
   array of pointers: `fastinstall doctor` finds out from the machine code which functions run only after the CPU was
   asked, and a pointer in constant data could be called by anybody (ADR 0073). */

#ifndef FI_CPU_H
#define FI_CPU_H

/* Extensions that variants ask for: a set of bits. */
typedef enum {
    FI_AVX512 = 1,         /* AVX-512 F, BW, DQ and VL: vectors of 64 bytes */
    FI_AVX512_VNNI = 2,    /* FI_AVX512 and VNNI: vpdpbusd multiplies four bytes a lane, in vectors of 64 bytes */
    FI_AVX_VNNI = 4,       /* AVX2 and AVX-VNNI: vpdpbusd in vectors of 32 bytes */
    FI_AVX512_VBMI = 8,    /* FI_AVX512 and VBMI: vpermi2b looks 64 bytes up in a table of 128 */
    FI_CPU_ASKED = 1 << 30 /* no extension: the CPU was asked, and the other bits are valid */
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

/* The answer of fi_ask_cpu, or 0. It is kept because CPUID takes long in a virtual machine, which it leaves each time.
   Each of Pillow's files defines this variable; as it is weak, the linker makes one of them. */
__attribute__((weak, visibility("hidden"))) int fi_cpu_extensions = 0;

/* Ask the CPU. An extension counts only if the system saves its registers, as XCR0 says. Source: Intel SDM, volume 1,
   15.2 to 15.4, and volume 2, CPUID: leaf 7 tells the extensions, its subleaf 1 AVX-VNNI. */
static inline int fi_ask_cpu(void) {
    const UINT32 saves_avx = 1u << 1 | 1u << 2, saves_avx512 = saves_avx | 1u << 5 | 1u << 6 | 1u << 7; /* of XCR0 */
    const UINT32 avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* of EBX; F, DQ, BW, VL */
    const UINT32 avx512_vbmi = 1u << 1, avx512_vnni = 1u << 11;                      /* of ECX */
    const UINT32 avx_vnni = 1u << 4;                                                 /* of EAX, subleaf 1 */
    UINT32 a, b, c, d, saved, high, subleaf_1;
    int has = FI_CPU_ASKED;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return has;
    }
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    subleaf_1 = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return has;
    }
    UINT32 last_subleaf = a;
    if ((saved & saves_avx512) == saves_avx512 && (b & avx512) == avx512) {
        has |= FI_AVX512 | (c & avx512_vnni ? FI_AVX512_VNNI : 0) | (c & avx512_vbmi ? FI_AVX512_VBMI : 0);
    }
    if ((saved & saves_avx) == saves_avx && (b & avx2) && last_subleaf >= 1 && (subleaf_1 & avx_vnni)) {
        has |= FI_AVX_VNNI;
    }
#ifdef FI_TEST_SWITCHES /* FI_EXTENSIONS lists those that may be used: "avx512 avx512vnni avx512vbmi avxvnni" */
    const char *allowed = getenv("FI_EXTENSIONS");
    if (allowed) {
        has &= FI_CPU_ASKED | (strstr(allowed, "avx512") ? FI_AVX512 : 0) |
               (strstr(allowed, "avx512vnni") ? FI_AVX512_VNNI : 0) | (strstr(allowed, "avxvnni") ? FI_AVX_VNNI : 0) |
               (strstr(allowed, "avx512vbmi") ? FI_AVX512_VBMI : 0);
    }
#endif
    return has;
}

/* Whether the CPU has an extension. Only functions defined by FI_AT_LOAD may ask: a module is loaded by one thread, so
   nothing guards the variable. */
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

/* Define function_avx512, which is `function` (an FI_INLINE) compiled once more, for AVX-512:
   FI_WITH_AVX512(fi_add, (int *sum, int value), sum, value). */
#define FI_WITH_AVX512(function, parameters, ...)                                                                      \
    static FI_FOR_AVX512 void function##_avx512 parameters {                                                           \
        function(__VA_ARGS__);                                                                                         \
    }

#endif
