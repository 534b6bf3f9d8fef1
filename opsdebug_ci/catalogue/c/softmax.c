/* Softmax over the last axis of a strided batch x rows x columns float32 tensor, into a contiguous output.
 * Strides are in elements. A row that holds NaN or +inf, or only -inf, becomes NaN throughout. */
#include <math.h>
#include <stddef.h>

void softmax(const float *x, float *out, ptrdiff_t batch, ptrdiff_t rows, ptrdiff_t columns,
             ptrdiff_t stride_batch, ptrdiff_t stride_row, ptrdiff_t stride_column)
{
    for (ptrdiff_t b = 0; b < batch; ++b) {
        for (ptrdiff_t r = 0; r < rows; ++r) {
            const float *source = x + b * stride_batch + r * stride_row;
            float *target = out + (b * rows + r) * columns;
            float peak = -INFINITY;
            double total = 0.0;
            for (ptrdiff_t c = 0; c < columns; ++c) {
                float value = source[c * stride_column];
                if (isnan(value) || value > peak)
                    peak = value;
                if (isnan(peak))
                    break;
            }
            for (ptrdiff_t c = 0; c < columns; ++c) {
                target[c] = expf(source[c * stride_column] - peak);
                total += target[c];
            }
            for (ptrdiff_t c = 0; c < columns; ++c)
                target[c] = (float)(target[c] / total);
        }
    }
}
