#ifndef CEL_XLA_ENGINE_NULL_H
#define CEL_XLA_ENGINE_NULL_H

#include "backend/xla/engine/engine.h"

extern const cel_engine_driver cel_engine_null;

#endif
