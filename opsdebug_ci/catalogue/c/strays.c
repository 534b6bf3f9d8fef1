/* Accesses that stray from a tensor, each a correct loop with one access more, or of another kind, than it should have.
   Any dtype: elements are moved as `size` bytes, or read in one of FORMATS and added up in double. Any layout: up to
   three axes, strides in elements. A distance is in bytes from the first element. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { AXES = 3 };
enum format { FLOAT32, FLOAT64, FLOAT16, BFLOAT16, FLOAT8_E5M2, INT32, INT64, UINT8 };
enum fold { SUM, LARGEST, SMALLEST };
enum touch { READ, COPY_BACK, ADD_NOTHING };

typedef struct {
    ptrdiff_t sizes[AXES];
    ptrdiff_t strides[AXES];
} view;

/* Distance of an element, counted in C order, in elements. */
static ptrdiff_t place(const view *v, ptrdiff_t index)
{
    ptrdiff_t at = 0;
    for (int axis = AXES - 1; axis >= 0; --axis) {
        at += index % v->sizes[axis] * v->strides[axis];
        index /= v->sizes[axis];
    }
    return at;
}

static ptrdiff_t count(const view *v)
{
    return v->sizes[0] * v->sizes[1] * v->sizes[2];
}

/* The first `done` elements of `x` into `out`. */
void copied(const char *x, const view *xv, char *out, const view *ov, ptrdiff_t size, ptrdiff_t done)
{
    for (ptrdiff_t i = 0; i < done; ++i)
        memcpy(out + place(ov, i) * size, x + place(xv, i) * size, (size_t)size);
}

/* `x` into `out`, each row stored as a whole tile `width` elements wide, whose last ones are `value`. */
void tiled(const char *x, const view *xv, char *out, const view *ov, ptrdiff_t size, ptrdiff_t width, const char *value)
{
    ptrdiff_t columns = xv->sizes[AXES - 1], step = ov->strides[AXES - 1];
    for (ptrdiff_t first = 0, n = count(xv); first < n; first += columns)
        for (ptrdiff_t c = 0; c < width; ++c)
            memcpy(out + (place(ov, first) + c * step) * size,
                   c < columns ? x + place(xv, first + c) * size : value, (size_t)size);
}

/* One store of `size` bytes, `distance` bytes from `out`. */
void stored(char *out, ptrdiff_t distance, const char *value, ptrdiff_t size)
{
    memcpy(out + distance, value, (size_t)size);
}

static double half(uint16_t raw)
{
    int exponent = raw >> 10 & 31;
    double fraction = raw & 1023, sign = raw >> 15 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(fraction + 1024.0, exponent - 25) : ldexp(fraction, -24));
}

static double element(const char *at, enum format format)
{
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        uint32_t u32;
        uint16_t u16;
        uint8_t u8;
    } raw = {.i64 = 0};
    switch (format) {
    case FLOAT32: memcpy(&raw, at, 4); return (double)raw.f32;
    case FLOAT64: memcpy(&raw, at, 8); return raw.f64;
    case FLOAT16: memcpy(&raw, at, 2); return half(raw.u16);
    case BFLOAT16: memcpy((char *)&raw + 2, at, 2); return (double)raw.f32;
    case FLOAT8_E5M2: memcpy((char *)&raw + 1, at, 1); return half(raw.u16);
    case INT32: memcpy(&raw, at, 4); return (double)raw.i32;
    case INT64: memcpy(&raw, at, 8); return (double)raw.i64;
    default: memcpy(&raw, at, 1); return (double)raw.u8;
    }
}

static double joined(double so_far, double value, enum fold fold)
{
    return fold == SUM ? so_far + value : fold == LARGEST ? fmax(so_far, value) : fmin(so_far, value);
}

/* Every element of `x` joined to what `out` holds. fmax and fmin drop NaN. */
void folded(const char *x, const view *v, ptrdiff_t size, int format, int fold, double *out)
{
    for (ptrdiff_t i = 0, n = count(v); i < n; ++i)
        *out = joined(*out, element(x + place(v, i) * size, (enum format)format), (enum fold)fold);
}

/* `weight` times what lies at each of `distances` joined to what `out` holds. */
void folded_at(const char *x, const ptrdiff_t *distances, ptrdiff_t many, int format, int fold, double weight,
               double *out)
{
    for (ptrdiff_t i = 0; i < many; ++i)
        *out = joined(*out, weight * element(x + distances[i], (enum format)format), (enum fold)fold);
}

/* An access to the byte `distance` bytes from `x` that leaves no trace. */
void touched(char *x, ptrdiff_t distance, int touch)
{
    volatile char *at = x + distance;
    char value = *at;
    if (touch == COPY_BACK)
        *at = value;
    if (touch == ADD_NOTHING)
        *at = (char)(*at + (char)0);
}

/* The lowest bit of an element turned over: one unit in the last place of any number. */
void nudged(char *x, ptrdiff_t distance)
{
    x[distance] ^= 1;
}

/* Every element turned over and, the last one excepted, back again. */
void restored(char *x, const view *v, ptrdiff_t size)
{
    ptrdiff_t n = count(v);
    for (int pass = 0; pass < 2; ++pass)
        for (ptrdiff_t i = 0; i < n - pass; ++i)
            for (ptrdiff_t b = 0; b < size; ++b)
                x[place(v, i) * size + b] ^= 1;
}
