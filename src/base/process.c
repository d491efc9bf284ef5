#define _POSIX_C_SOURCE 200809L
#ifdef __APPLE__
#include <crt_externs.h>
#else
extern char **environ;
#endif

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *const *cel_process_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

// stdin from nowhere, stdout and stderr into the pipe's end.
static int redirect(posix_spawn_file_actions_t *actions, const int ends[2]) {
  int e = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!e) e = posix_spawn_file_actions_adddup2(actions, ends[1], 1);
  if (!e) e = posix_spawn_file_actions_adddup2(actions, ends[1], 2);
  if (!e) e = posix_spawn_file_actions_addclose(actions, ends[0]);
  if (!e && ends[1] > 2) e = posix_spawn_file_actions_addclose(actions, ends[1]);
  return e;
}

static int spawn(const char *const *argv, const int ends[2], pid_t *pid) {
  posix_spawn_file_actions_t actions;
  char *const *words = (char *const *)(const void *)argv;  // POSIX promises not to change them
  int e = posix_spawn_file_actions_init(&actions);
  if (e) return e;
  e = redirect(&actions, ends);
  if (!e) e = posix_spawn(pid, argv[0], &actions, NULL, words, cel_process_environment());
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

static void listen_to(int fd, cel_buf *said) {
  char piece[4096];
  for (;;) {
    ssize_t n = read(fd, piece, sizeof piece);
    if (n > 0) cel_buf_add(said, piece, (size_t)n);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
}

cel_status cel_process_run(const char *const *argv, cel_buf *said, int *code, cel_err *err) {
  int ends[2], status = 0;
  pid_t pid;
  if (pipe(ends) != 0) return cel_fail(err, CEL_IO, "%s cannot be started: %s", argv[0], strerror(errno));
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  int e = spawn(argv, ends, &pid);
  close(ends[1]);
  if (!e) listen_to(ends[0], said);
  close(ends[0]);
  if (e) return cel_fail(err, CEL_IO, "%s cannot be started: %s", argv[0], strerror(e));
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return cel_fail(err, CEL_IO, "%s: its end cannot be waited for: %s", argv[0], strerror(errno));
  }
  *code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return said->failed ? cel_fail_oom(err, "a program's output") : CEL_OK;
}
