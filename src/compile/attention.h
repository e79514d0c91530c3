/* compile/attention.h: attention that is written as products around a softmax. */
#ifndef MICA_COMPILE_ATTENTION_H
#define MICA_COMPILE_ATTENTION_H

#include "compile/passes.h"

/* Whether the graph has a softmax along the last of three axes or more: where the search begins. */
bool mica_has_softmax(const mica_graph *g);
/* The graph with softmax(scale q k^T + mask) v, and its derivative, as calls of mica.attention and
 * mica.attention.back where the claimer claims these. NULL: there is none. */
MICA_MUST_CHECK mica_status mica_match_attention(const mica_graph *g, const mica_claimer *claimer,
                                                 mica_graph **out_graph);

/* Settings of the composites. `never` is the score of a key that a mask hides: where all keys are
 * hidden, y is the mean of v, and what stands for ln sum e^score is infinity. */
typedef struct mica_attention_settings {
    double scale;
    bool causal, has_never;
    float never;
} mica_attention_settings;

enum { MICA_ATTENTION_OPERANDS = 8 };

/* operands: q (..., T, D), k (..., S, D), v (..., S, E) and, unless it is null, a mask to stretch
 * to
 * (..., T, S): bool (true: hidden) or f32 (added); out: y (..., T, E), ln sum e^score (..., T). */
mica_node *mica_attention_call(mica_graph *g, const mica_value operands[4],
                               const mica_attention_settings *s);
/* The same operands, then y, the second result, dy and the cotangent of the second result; out: dq,
 * dk, dv. */
mica_node *mica_attention_back_call(mica_graph *g, const mica_value operands[8],
                                    const mica_attention_settings *s);

#endif
