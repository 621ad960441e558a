/* num.c - text to numbers. Short decimals, which is nearly all there are in
 * files, are converted exactly with one multiplication or division; strtof
 * does the rest. */
#define _GNU_SOURCE /* strtof_l, strtod_l, newlocale */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "num.h"

/* A decimal taken apart: mantissa * 10^exponent. */
typedef struct {
  uint64_t mantissa;
  int digits; /* in the mantissa, without zeros in front; -1: too many */
  int64_t exponent;
  int negative;
} decimal;

enum { MAX_DIGITS = 19 }; /* what a uint64_t surely holds */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static void add_digit(decimal *d, char c) {
  if (d->digits < 0 || (d->digits == 0 && c == '0')) return;
  if (d->digits == MAX_DIGITS) {
    d->digits = -1;
    return;
  }
  d->mantissa = d->mantissa * 10 + (uint64_t)(c - '0');
  d->digits++;
}

/* The exponent after a mantissa; an `e` without digits is no part of it. */
static const char *scan_exponent(const char *s, const char *end, decimal *d) {
  const char *p = s;
  int negative = 0;
  int64_t e = 0;
  if (p == end || (*p != 'e' && *p != 'E')) return s;
  p++;
  if (p != end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  if (p == end || !is_digit(*p)) return s;
  for (; p != end && is_digit(*p); p++)
    if (e < 100000) e = e * 10 + (*p - '0');
  d->exponent += negative ? -e : e;
  return p;
}

/* Past the decimal, or NULL when there is none. */
static const char *scan(const char *s, const char *end, decimal *d) {
  int any = 0;
  memset(d, 0, sizeof *d);
  if (s != end && (*s == '-' || *s == '+')) d->negative = *s++ == '-';
  for (; s != end && is_digit(*s); s++, any = 1) add_digit(d, *s);
  if (s != end && *s == '.') {
    for (s++; s != end && is_digit(*s); s++, any = 1) {
      add_digit(d, *s);
      d->exponent--;
    }
  }
  return any ? scan_exponent(s, end, d) : NULL;
}

/* Past nan, inf or infinity, or NULL. */
static const char *scan_word(const char *s, const char *end, float *out) {
  static const struct {
    const char *text;
    float value;
  } words[] = {{"nan", NAN}, {"infinity", INFINITY}, {"inf", INFINITY}};
  int negative = 0;
  if (s != end && (*s == '-' || *s == '+')) negative = *s++ == '-';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t n = strlen(words[i].text);
    if ((size_t)(end - s) < n || strncasecmp(s, words[i].text, n)) continue;
    *out = negative ? -words[i].value : words[i].value;
    return s + n;
  }
  return NULL;
}

/* The "C" locale is built into the C library: making it allocates nothing. */
static locale_t plain(void) {
  static locale_t made;
  if (!made) made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return made;
}

static const double power_of_ten[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Both factors are exact doubles, so the product is the nearest double. */
static int exact_double(const decimal *d, double *out) {
  double m = (double)d->mantissa;
  if (d->digits < 0 || d->mantissa > UINT64_C(1) << 53) return 0;
  if (d->exponent < -22 || d->exponent > 22) return 0;
  m = d->exponent < 0 ? m / power_of_ten[-d->exponent]
                      : m * power_of_ten[d->exponent];
  *out = d->negative ? -m : m;
  return 1;
}

/* Rounding a double again gives the nearest float, unless the double lies in
 * the middle of two floats, where the decimal may lie on either side. */
static int rounds_well(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits & 0x1fffffff) != 0x10000000 && (x == 0 || fabs(x) >= 0x1p-126);
}

int file_num_float(const char **at, const char *end, float *out) {
  decimal d;
  double x = 0;
  const char *past = scan(*at, end, &d);
  if (!past) {
    past = scan_word(*at, end, out);
    if (past) *at = past;
    return past != NULL;
  }
  if (d.mantissa == 0 && d.digits == 0)
    *out = d.negative ? -0.0f : 0.0f;
  else if (exact_double(&d, &x) && rounds_well(x))
    *out = (float)x;
  else
    *out = strtof_l(*at, NULL, plain());
  *at = past;
  return 1;
}

int file_num_double(const char **at, const char *end, double *out) {
  decimal d;
  float word;
  const char *past = scan(*at, end, &d);
  if (!past) {
    past = scan_word(*at, end, &word);
    if (!past) return 0;
    *out = (double)word;
  } else if (d.mantissa == 0 && d.digits == 0) {
    *out = d.negative ? -0.0 : 0.0;
  } else if (!exact_double(&d, out)) {
    *out = strtod_l(*at, NULL, plain());
  }
  *at = past;
  return 1;
}

int file_num_whole(const char **at, const char *end, int64_t *out) {
  decimal d;
  const char *past = scan(*at, end, &d);
  uint64_t limit;
  if (!past || d.digits < 0) return 0;
  limit = (uint64_t)INT64_MAX + (uint64_t)d.negative;
  for (; d.mantissa && d.exponent < 0; d.exponent++) {
    if (d.mantissa % 10) return 0;
    d.mantissa /= 10;
  }
  for (; d.mantissa && d.exponent > 0; d.exponent--) {
    if (d.mantissa > limit / 10) return 0;
    d.mantissa *= 10;
  }
  if (d.mantissa > limit) return 0;
  *out = (int64_t)(d.negative ? 0 - d.mantissa : d.mantissa);
  *at = past;
  return 1;
}
