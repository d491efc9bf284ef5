#define _XOPEN_SOURCE 700
#include <signal.h>
#include <string.h>

#include "cli/cli.h"

volatile int cli_interrupted;  // the one place a signal can speak to

static void on_interrupt(int number) {
  (void)number;
  cli_interrupted = 1;
}

static void set_handler(int number, void (*handler)(int)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = handler;
  sigemptyset(&a.sa_mask);
  sigaction(number, &a, NULL);
}

void cli_catch_interrupts(void) { set_handler(SIGINT, on_interrupt); }

void cli_catch_ends(void) {
  set_handler(SIGINT, on_interrupt);
  set_handler(SIGTERM, on_interrupt);
  set_handler(SIGHUP, on_interrupt);
  set_handler(SIGXFSZ, SIG_IGN);
}
