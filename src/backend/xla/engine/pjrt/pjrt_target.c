// What a compiled program depends on besides its text: the plugin's build, the kind of device, and on CPUs the processor.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/xla/engine/common/processor.h"
#include "backend/xla/engine/pjrt/pjrt_program.h"

// "NVIDIA H200"; the platform's name where the plugin does not say.
static void device_kind(const cel_pjrt *p, char *out, size_t bytes) {
  snprintf(out, bytes, "%s", p->platform);
  cel_pjrt_describe_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_describe_args, description), .device = p->devices[0]};
  if (!p->api->device_describe || !p->api->description_kind) return;
  if (cel_pjrt_check(p, p->api->device_describe(&d), "", NULL) != CEL_OK || !d.description) return;
  cel_pjrt_kind_args k = {.head = CEL_PJRT_HEAD(cel_pjrt_kind_args, text_bytes), .description = d.description};
  if (cel_pjrt_check(p, p->api->description_kind(&k), "", NULL) != CEL_OK || !k.text) return;
  snprintf(out, bytes, "%.*s", (int)CEL_MIN(k.text_bytes, bytes - 1), k.text);
}

void cel_pjrt_identify(cel_pjrt *p, const char *path) {
  char kind[CEL_PJRT_NAME_BYTES], cpu[CEL_PJRT_NAME_BYTES] = "";
  struct stat st = {0};
  device_kind(p, kind, sizeof kind);
  if (!strcmp(p->platform, "cpu")) cel_processor_name(cpu, sizeof cpu);
  snprintf(p->target, sizeof p->target, "%.40s%s%.50s", kind, *cpu ? " " : "", cpu);
  // Two builds of one version differ in size or time: the file is too long to be read for a digest.
  (void)stat(path, &st);
  const char *file = strrchr(path, '/');
  snprintf(p->version, sizeof p->version, "%.40s PJRT %d.%d %lld %lld", file ? file + 1 : path, p->api->version.major,
           p->api->version.minor, (long long)st.st_size, (long long)st.st_mtime);
}
