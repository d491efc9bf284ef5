// One document in many threads: read, counted and put into documents of their own, all at once.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

enum { THREADS = 4, ROUNDS = 2000 };

static void *use(void *shared) {
  const cel_json *list = cel_json_get(shared, "list");
  int64_t wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    cel_json *own = cel_json_object();
    wrong += cel_json_object_set(own, "a", cel_json_array_get(list, (size_t)(i % 3))) != 0;
    wrong += cel_json_object_set_new(own, "b", cel_json_incref(shared)) != 0;
    wrong += cel_json_integer_value(cel_json_object_get(own, "a")) != i % 3;
    wrong += cel_json_int(cel_json_get(own, "b"), "k9", -1) != 9;
    cel_json_decref(own);
  }
  return (void *)(intptr_t)wrong;
}

static void many_threads_share_a_document(void **state) {
  (void)state;
  cel_json *v = NULL;
  cel_err err = {0};
  pthread_t threads[THREADS];
  assert_int_equal(cel_json_parse(CEL_STR("{\"list\":[0,1,2],\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9}"), "t", &v, &err),
                   CEL_OK);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use, v), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  cel_json_decref(v);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(many_threads_share_a_document)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
