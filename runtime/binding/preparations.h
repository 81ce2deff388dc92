/* Private: from an image to the classifier's input. */
#ifndef EDGEMON_PREPARATIONS_H
#define EDGEMON_PREPARATIONS_H

#include "buffers.h"

extern PyType_Spec preparation_spec;

#endif /* EDGEMON_PREPARATIONS_H */
