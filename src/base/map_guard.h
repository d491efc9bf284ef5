// Mappings whose file may be cut short, or whose disk may fail, while we read from memory. The system answers a read of
// such a page with SIGBUS. A handler for the whole process, set when the first mapping is guarded, puts zero pages where the
// lost ones were and remembers it: the reader goes on with zeros and its caller asks afterwards (docs/adr/0008).
// A SIGBUS elsewhere goes to the handler that was there before, or ends the process as ever. A program that sets a SIGBUS
// handler of its own later should pass on what it does not know.
// Threads: any; guarding and releasing take no lock.
#ifndef CEL_BASE_MAP_GUARD_H
#define CEL_BASE_MAP_GUARD_H

#include <stddef.h>
#include <stdint.h>

enum { CEL_MAPS_MOST = 4096 };  // guarded at once

// Guards data[bytes], a mapping of whole pages. Returns a handle, or -1 when CEL_MAPS_MOST are guarded already.
int cel_map_guard(const void *data, size_t bytes);
// Before the memory is unmapped. Nobody reads it any more.
void cel_map_release(int handle);
// The first byte whose page was lost so far; -1: none.
int64_t cel_map_lost(int handle);

#endif
