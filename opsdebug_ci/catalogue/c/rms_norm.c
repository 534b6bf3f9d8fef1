/* x / sqrt(mean(x^2) + eps) * weight over the last axis of a strided batch x rows x columns float32 tensor, into a
 * contiguous output. Strides are in elements. Squares are summed in double: four lanes, then the remainder. */
#include <math.h>
#include <stddef.h>

enum { LANES = 4 };

static double sum_of_squares(const float *x, ptrdiff_t columns, ptrdiff_t stride)
{
    double lane[LANES] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t c = 0;
    for (; c + LANES <= columns; c += LANES) {
        for (int i = 0; i < LANES; ++i) {
            double value = x[(c + i) * stride];
            lane[i] += value * value;
        }
    }
    for (; c < columns; ++c) {
        double value = x[c * stride];
        lane[0] += value * value;
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

void rms_norm(const float *x, const float *weight, float *out, ptrdiff_t batch, ptrdiff_t rows, ptrdiff_t columns,
              ptrdiff_t stride_batch, ptrdiff_t stride_row, ptrdiff_t stride_column, ptrdiff_t stride_weight,
              double eps)
{
    for (ptrdiff_t b = 0; b < batch; ++b) {
        for (ptrdiff_t r = 0; r < rows; ++r) {
            const float *source = x + b * stride_batch + r * stride_row;
            float *target = out + (b * rows + r) * columns;
            double root = sqrt(sum_of_squares(source, columns, stride_column) / (double)columns + eps);
            for (ptrdiff_t c = 0; c < columns; ++c)
                target[c] = (float)(source[c * stride_column] / root * weight[c * stride_weight]);
        }
    }
}
