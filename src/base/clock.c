#define _GNU_SOURCE  // CLOCK_BOOTTIME
#define _DARWIN_C_SOURCE
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#endif

static double ms_of(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return 0;
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double cel_now_ms(void) { return ms_of(CLOCK_MONOTONIC); }
double cel_thread_cpu_ms(void) { return ms_of(CLOCK_THREAD_CPUTIME_ID); }

uint64_t cel_seed(const void *place) {
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  uint64_t h = (uint64_t)(uintptr_t)place * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)now.tv_nsec;
  h = (h ^ (uint64_t)(uintptr_t)&now ^ (uint64_t)now.tv_sec << 32) * UINT64_C(0xD6E8FEB86659FD93);
  return h ^ h >> 32;
}

int64_t cel_peak_rss_bytes(void) {
  struct rusage use;
  if (getrusage(RUSAGE_SELF, &use) != 0) return 0;
#if defined(__APPLE__)
  return use.ru_maxrss;  // bytes there, KiB elsewhere
#else
  return (int64_t)use.ru_maxrss * 1024;
#endif
}

#if defined(__APPLE__)

double cel_process_age_ms(void) {
  struct kinfo_proc info;
  size_t bytes = sizeof info;
  int name[4] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
  struct timeval now;
  if (sysctl(name, 4, &info, &bytes, NULL, 0) != 0 || gettimeofday(&now, NULL) != 0) return 0;
  struct timeval start = info.kp_proc.p_starttime;
  return (double)(now.tv_sec - start.tv_sec) * 1e3 + (double)(now.tv_usec - start.tv_usec) * 1e-3;
}

int64_t cel_current_rss_bytes(void) {
  mach_task_basic_info_data_t info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &count) != KERN_SUCCESS) return 0;
  return (int64_t)info.resident_size;
}

#else

// Field 22 of /proc/self/stat: start in clock ticks since boot. The second field is the name in
// parentheses and may hold anything, so fields are counted from the last ')'.
double cel_process_age_ms(void) {
  char text[1024];
  FILE *f = fopen("/proc/self/stat", "r");
  if (!f) return 0;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  const char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  long long ticks = 0;
  long per_second = sysconf(_SC_CLK_TCK);
  if (!at || sscanf(at, " %lld", &ticks) != 1 || per_second <= 0) return 0;
  double age = ms_of(CLOCK_BOOTTIME) - (double)ticks * 1e3 / (double)per_second;
  return age > 0 ? age : 0;
}

int64_t cel_current_rss_bytes(void) {
  long long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  int got = fscanf(f, "%*s %lld", &pages);
  fclose(f);
  return got == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

#endif
