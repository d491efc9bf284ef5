// Time and memory of this process, for reports; and what follows from them.
#ifndef CEL_BASE_CLOCK_H
#define CEL_BASE_CLOCK_H

#include <stdint.h>

double cel_now_ms(void);            // monotonic
double cel_process_age_ms(void);    // since the process was started, by the operating system's word
int64_t cel_peak_rss_bytes(void);
int64_t cel_current_rss_bytes(void);
double cel_thread_cpu_ms(void);     // processor time of the thread that asks

// A number that no file can aim at, of the clock and of where memory lies: for hash tables whose keys come from files.
// `place` is any address, another one each time.
uint64_t cel_seed(const void *place);

#endif
