/* mica/mica.h: all of Mica's C API. Each header is its own manual; start with graph.h. */
#ifndef MICA_MICA_H
#define MICA_MICA_H

#include "arrays.h"
#include "data.h"
#include "dist.h"
#include "graph.h"
#include "io.h"
#include "media.h"
#include "mlc.h"
#include "nn.h"
#include "peer.h"
#include "records.h"
#include "runtime.h"
#include "saved_model.h"
#include "status.h"
#include "tf.h"
#include "tf/tape.h"
#include "transform.h"
#include "types.h"
#include "version.h"

#endif
