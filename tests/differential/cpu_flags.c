/* Prints the features of the CPU that it runs on, as /proc/cpuinfo would name them. */
#include <cpuid.h>
#include <stdio.h>

struct feature { unsigned leaf, reg, bit; const char *name; };
enum { EAX, EBX, ECX, EDX };

static const struct feature features[] = {
    {1, EDX, 0, "fpu"}, {1, EDX, 8, "cx8"}, {1, EDX, 15, "cmov"}, {1, EDX, 23, "mmx"}, {1, EDX, 24, "fxsr"},
    {1, EDX, 25, "sse"}, {1, EDX, 26, "sse2"}, {1, ECX, 0, "pni"}, {1, ECX, 1, "pclmulqdq"}, {1, ECX, 9, "ssse3"},
    {1, ECX, 12, "fma"}, {1, ECX, 13, "cx16"}, {1, ECX, 19, "sse4_1"}, {1, ECX, 20, "sse4_2"}, {1, ECX, 22, "movbe"},
    {1, ECX, 23, "popcnt"}, {1, ECX, 25, "aes"}, {1, ECX, 26, "xsave"}, {1, ECX, 28, "avx"}, {1, ECX, 29, "f16c"},
    {1, ECX, 30, "rdrand"}, {7, EBX, 3, "bmi1"}, {7, EBX, 5, "avx2"}, {7, EBX, 8, "bmi2"}, {7, EBX, 16, "avx512f"},
    {7, EBX, 17, "avx512dq"}, {7, EBX, 18, "rdseed"}, {7, EBX, 19, "adx"}, {7, EBX, 21, "avx512ifma"},
    {7, EBX, 28, "avx512cd"}, {7, EBX, 29, "sha_ni"}, {7, EBX, 30, "avx512bw"}, {7, EBX, 31, "avx512vl"},
    {7, ECX, 1, "avx512vbmi"}, {7, ECX, 6, "avx512_vbmi2"}, {7, ECX, 8, "gfni"}, {7, ECX, 9, "vaes"},
    {7, ECX, 10, "vpclmulqdq"}, {7, ECX, 11, "avx512_vnni"}, {7, ECX, 12, "avx512_bitalg"},
    {7, ECX, 14, "avx512_vpopcntdq"}, {0x80000001, ECX, 0, "lahf_lm"}, {0x80000001, ECX, 5, "abm"},
    {0x80000001, ECX, 6, "sse4a"}, {0x80000001, EDX, 11, "syscall"}, {0x80000001, EDX, 29, "lm"},
};

int main(void) {
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++) {
        unsigned regs[4] = {0, 0, 0, 0};
        __get_cpuid_count(features[i].leaf, 0, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]);
        if (regs[features[i].reg] >> features[i].bit & 1)
            printf("%s ", features[i].name);
    }
    return 0;
}
