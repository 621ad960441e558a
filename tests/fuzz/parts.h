/* parts.h - compositions that the random graphs contain as one step. Each gives
 * an owned node, or NULL where the input does not allow it. */
#ifndef PARTS_H
#define PARTS_H

#include "plan.h"

/* Three rows of weights, of up to 4 places, by the windows w [.., n, places]:
 * what a convolution is. */
plan_node *parts_convolve(plan *p, dev *d, plan_node *w, const float *weights,
                          tsh_err *err);
/* a and isnan(a), in four parts that are joined twice, along the last axis and
 * another, without handles on the way. */
plan_node *parts_quilt(plan *p, plan_node *a, int axis, tsh_err *err);

#endif
