/* Private: an image at a time, evaluated and counted in one call. */
#ifndef EDGEMON_STREAMS_H
#define EDGEMON_STREAMS_H

#include "buffers.h"

extern PyType_Spec stream_spec;

#endif /* EDGEMON_STREAMS_H */
