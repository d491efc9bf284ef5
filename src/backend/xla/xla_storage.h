// A checkpoint's tensors as the emitter asks for them.
#ifndef CEL_XLA_STORAGE_H
#define CEL_XLA_STORAGE_H

#include "backend/xla/emit/emit.h"
#include "backend/xla/engine/engine.h"
#include "model/checkpoint.h"

// The source lives as long as the checkpoint.
cel_storage_source cel_xla_storage(const cel_checkpoint *checkpoint);
// The same with matrices that are quantized widened to f32, for programs that expand nothing. What has a factor of its own beside
// its scales (nvfp4 stacks) stays as it is.
cel_storage_source cel_xla_storage_widened(const cel_checkpoint *checkpoint);
// A tensor for an engine, of which its devices have parts along dimension `shard` (-1: all of it): lent where it lies as the program wants it, or in parts where the engine takes those.
CEL_MUST_CHECK cel_status cel_xla_upload(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type,
                                         int shard, const cel_tensor *t, cel_buffer **out, cel_err *err);
// NAME (MODULE.weight) widened to f32.
CEL_MUST_CHECK cel_status cel_xla_upload_widened(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type,
                                                 int shard, const cel_checkpoint *checkpoint, const char *name, cel_buffer **out,
                                                 cel_err *err);

#endif
