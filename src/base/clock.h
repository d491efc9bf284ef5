// Time and memory of this process, for reports.
#ifndef CEL_BASE_CLOCK_H
#define CEL_BASE_CLOCK_H

#include <stdint.h>

double cel_now_ms(void);            // monotonic
double cel_process_age_ms(void);    // since the process was started, by the operating system's word
int64_t cel_peak_rss_bytes(void);
int64_t cel_current_rss_bytes(void);

#endif
