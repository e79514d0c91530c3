/* mlc/optimizer.h: an optimizer as mica/nn.h has it. */
#ifndef MICA_MLC_OPTIMIZER_H
#define MICA_MLC_OPTIMIZER_H

#include "mica/nn.h"
#include "mlc/objects.h"

mica_nn_optimizer mlc_optimizer_mathematics(const mlc_optimizer *optimizer);

#endif
