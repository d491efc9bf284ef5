#include "backend/xla/engine/common/processor.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/sha256.h"

// Compilers look at more of a processor than our kernels do: where the system lists its features, eight digits of the
// list's digest tell one from another.
void cel_processor_name(char *out, size_t bytes) {
  char line[8192], digest[CEL_SHA256_HEX_BYTES] = "";
  cel_cpu_describe(cel_cpu_detect(), out, (int)bytes);
  FILE *f = fopen("/proc/cpuinfo", "r");
  if (!f) return;
  while (!*digest && fgets(line, sizeof line, f)) {
    if (strncmp(line, "flags", 5) != 0 && strncmp(line, "Features", 8) != 0) continue;
    cel_sha256 s;
    cel_sha256_init(&s);
    cel_sha256_add(&s, line, strlen(line));
    cel_sha256_end_hex(&s, digest);
  }
  fclose(f);
  size_t n = strlen(out);
  if (*digest) snprintf(out + n, bytes - n, " %.8s", digest);
}
