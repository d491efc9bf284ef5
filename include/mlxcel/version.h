// Which mlxcel this is: the header's version when a program is compiled, the library's when it runs.
#ifndef MLXCEL_VERSION_H
#define MLXCEL_VERSION_H

#include <mlxcel/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLXCEL_VERSION_MAJOR 0
#define MLXCEL_VERSION_MINOR 1
#define MLXCEL_VERSION_PATCH 0

// "0.1.0", of the library that is loaded. Static.
MLXCEL_API const char *mlxcel_version(void);

#ifdef __cplusplus
}
#endif
#endif
