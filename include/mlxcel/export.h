// Attributes of the public functions. Nothing here is for users of the library.
#ifndef MLXCEL_EXPORT_H
#define MLXCEL_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define MLXCEL_API __attribute__((visibility("default")))
#define MLXCEL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define MLXCEL_API
#define MLXCEL_MUST_CHECK
#endif

#endif
