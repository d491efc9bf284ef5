#ifndef CEL_BACKEND_NULL_H
#define CEL_BACKEND_NULL_H

#include "session/session.h"

extern const cel_backend cel_backend_null;

#endif
