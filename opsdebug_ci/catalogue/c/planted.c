/* Loops with a defect that a number switches on, over float32 rows. Strides are in elements, outputs contiguous. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 8 };

/* Sum of each row in whole vectors, then, when `rest` is set, of what remains. */
void row_sums(const float *x, float *out, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t rest)
{
    for (ptrdiff_t r = 0; r < rows; ++r) {
        double lane[LANES] = {0.0};
        double total = 0.0;
        ptrdiff_t c = 0;
        for (; c + LANES <= columns; c += LANES)
            for (int i = 0; i < LANES; ++i)
                lane[i] += x[r * columns + c + i];
        for (; rest && c < columns; ++c)
            lane[0] += x[r * columns + c];
        for (int i = 0; i < LANES; ++i)
            total += lane[i];
        out[r] = (float)total;
    }
}

/* Magnitude of each element of a strided batch x rows x columns tensor. */
void magnitudes(const float *x, float *out, ptrdiff_t batch, ptrdiff_t rows, ptrdiff_t columns,
                ptrdiff_t stride_batch, ptrdiff_t stride_row, ptrdiff_t stride_column)
{
    for (ptrdiff_t b = 0; b < batch; ++b)
        for (ptrdiff_t r = 0; r < rows; ++r)
            for (ptrdiff_t c = 0; c < columns; ++c)
                *out++ = fabsf(x[b * stride_batch + r * stride_row + c * stride_column]);
}

/* x + y where the index, cut to `bits` bits, is not negative. */
void add(const float *x, const float *y, float *out, ptrdiff_t count, ptrdiff_t bits)
{
    for (ptrdiff_t i = 0; i < count; ++i) {
        ptrdiff_t k = bits == 16 ? (ptrdiff_t)(int16_t)i : i;
        if (k >= 0)
            out[k] = x[k] + y[k];
    }
}

/* Mean of the `read` elements that begin each row, over `columns` of them. */
void means(const float *x, float *out, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t read)
{
    for (ptrdiff_t r = 0; r < rows; ++r) {
        double total = 0.0;
        for (ptrdiff_t c = 0; c < read; ++c)
            total += x[r * columns + c];
        out[r] = (float)(total / (double)columns);
    }
}
