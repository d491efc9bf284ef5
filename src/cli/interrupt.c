#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include "cli/cli.h"

volatile int cli_interrupted;  // the one place a signal can speak to

static void on_interrupt(int number) {
  (void)number;
  cli_interrupted = 1;
}

void cli_catch_interrupts(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_interrupt;
  sigemptyset(&a.sa_mask);
  sigaction(SIGINT, &a, NULL);
}
