/* transform/regions.h: what the rules of region ops share. */
#ifndef MICA_TRANSFORM_REGIONS_H
#define MICA_TRANSFORM_REGIONS_H

#include "transform/transform.h"

/* Backward mode of a call through its body: the call also returns residuals, and a linear call on
 * them and the tangents is appended. */
void mica_linearize_body(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                         mica_value *dy);

#endif
