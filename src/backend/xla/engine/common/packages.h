// Folders in which Python packages lie: published wheels are where most people have the libraries that engines load.
#ifndef CEL_XLA_ENGINE_COMMON_PACKAGES_H
#define CEL_XLA_ENGINE_COMMON_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

// Calls try(context, folder, n) with each folder's name, n bytes without a terminator, until one call says true; says whether
// one did. First come those of `folders` (parted by ':', "" for none), then the active virtual environment's, the user's and
// the system's.
bool cel_packages_find(const char *folders, bool (*try)(void *context, const char *folder, size_t n), void *context);

#endif
