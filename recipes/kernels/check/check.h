/* For checks of single kernels: random numbers, pictures, and their comparison.

   A check is one C file, named like its kernel. It includes Pillow's file with the kernel's functions renamed, as a
   build does, and the kernel behind it; so both are in one program. fi_check_case() makes one random case, computes it
   by both, and compares. main.c repeats it for a while, or takes the random numbers from a file (a fuzzer's). */

#ifndef FI_CHECK_H
#define FI_CHECK_H

/* Imaging.h of Pillow comes before: it has no guard, and Pillow's file has included it. */

#define FI_TAKE(...) (__VA_ARGS__)[fi_draw(sizeof(__VA_ARGS__) / sizeof(*(__VA_ARGS__)))]

/* A number below a bound; by a fuzzer's bytes 0 where they end. */
UINT32 fi_draw(UINT32 bound);

/* A number of -1 to 1 in steps of 1/1024. */
double fi_draw_fraction(void);

/* A length, mostly small, often around the widths of vectors. At most 400. */
int fi_draw_length(void);

/* A picture: noise, few values, a ramp or one value. The bytes that its mode doesn't use are 0. */
Imaging fi_draw_picture(ModeID mode, int xsize, int ysize);

/* A copy of it. */
Imaging fi_copy_picture(Imaging image);

/* Random bytes of one of the kinds of fi_draw_picture. */
void fi_draw_bytes(UINT8 *bytes, size_t count);

/* What the case is, in words, for a message about it. */
void fi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fail unless both are alike to the bit, or both NULL; delete both. */
void fi_compare(Imaging ours, Imaging theirs);

/* Fail unless some bytes are alike. */
void fi_compare_bytes(const void *ours, const void *theirs, size_t count);

/* One case. Every check defines it. */
void fi_check_case(void);

#endif
