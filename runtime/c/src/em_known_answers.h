/* Private: the runtime's test of itself, section 7.11 of FORMAT.md. */
#ifndef EM_KNOWN_ANSWERS_H
#define EM_KNOWN_ANSWERS_H

#include "em_layout.h"

#define EM_KNOWN_HASH UINT32_C(0xF0B35D2D) /* of the answers of program/reference.py */

/* The hash of what the float ops give here on fixed numbers. */
EM_INTERNAL uint32_t em_known_answers(void);

EM_INLINE em_status em_check_arithmetic(void) {
    return em_known_answers() == EM_KNOWN_HASH ? EM_OK : EM_E_FLOAT;
}

#endif /* EM_KNOWN_ANSWERS_H */
