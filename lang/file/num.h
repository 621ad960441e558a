/* num.h - numbers in text, inside the file room only. A decimal number is an
 * optional sign, digits with at most one point, an optional exponent; floats
 * may also be nan, inf and infinity in any case. The locale does not matter. */
#ifndef FILE_NUM_H
#define FILE_NUM_H

#include <stdint.h>

/* Both read the number that begins at *at and move *at past it, or return 0
 * and leave *at. A byte that no number holds must follow end (a 0 will do).
 *
 * The nearest f32; too large is infinite. */
int file_num_float(const char **at, const char *end, float *out);
/* The nearest f64. */
int file_num_double(const char **at, const char *end, double *out);
/* A whole number that fits, also when written as 3.0 or 1e3. */
int file_num_whole(const char **at, const char *end, int64_t *out);

#endif
