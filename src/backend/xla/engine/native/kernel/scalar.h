// The scalar bodies, shared between the files of scalar.c's table. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_SCALAR_H
#define CEL_XLA_NATIVE_KERNEL_SCALAR_H

#include "backend/xla/engine/native/kernel/kernel.h"

#define CEL_KERNEL(name, args) void cel_scalar_##name args;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL

#endif
