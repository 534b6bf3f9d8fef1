/* float32 loops over n elements, each with one stray access. `volatile`: a compiler may drop no access, needed or not. */
#include <stddef.h>

enum { FAR = 3000 };

static void twice(const float *x, float *out, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; ++i)
        out[i] = x[i] + x[i];
}

static float at(const float *x, ptrdiff_t i) { return *(const volatile float *)(x + i); }

static void put(const float *x, ptrdiff_t i, float value) { *(volatile float *)(x + i) = value; }

void clean(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); }

void over_write(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(out, n, 0.0f); }

void far_write(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(out, n + FAR, 0.0f); }

void over_read(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(out, 0, 2 * at(x, 0) + 0 * at(x, n)); }

void unused_read(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); (void)at(x, n); }

void copy_back(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(x, n, at(x, n)); }

void add_zero(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(out, n, at(out, n) + 0.0f); }

void under_write(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(out, -1, 0.0f); }

void under_read(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); (void)at(x, -1); }

void mutates(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(x, n / 2, 0.0f); }

void same_value(const float *x, float *out, ptrdiff_t n) { twice(x, out, n); put(x, 0, at(x, 0)); }

/* Needs memory at multiples of 16 bytes, and dies otherwise as who touches a page does. */
void aligned_only(const float *x, float *out, ptrdiff_t n)
{
    if ((size_t)x % 16 || (size_t)out % 16)
        put(NULL, 0, 0.0f);
    twice(x, out, n);
}
