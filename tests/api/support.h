// What the tests of the public interface share. They see the public headers and nothing else of mlxcel.
#ifndef CEL_TESTS_API_SUPPORT_H
#define CEL_TESTS_API_SUPPORT_H

// cmocka wants these before its own header
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <mlxcel/mlxcel.h>

enum { ORACLE_MOST = 160, ORACLE_CASES = 2 };

// A committed reference run (tests/data/oracle).
typedef struct reference {
  int32_t ids[ORACLE_MOST];     // [n] prompt
  int64_t n;
  int32_t greedy[ORACLE_MOST];  // [n_greedy]
  int64_t n_greedy;
} reference;
int reference_load(const char *name, reference out[ORACLE_CASES]);  // returns how many there are, 1 at least

#define DATA(name) CEL_TEST_DATA "/data/oracle/" name
#define LLAMA3 DATA("llama3")                     // no tokenizer
#define LLAMA_GGUF DATA("llama-gguf/model.gguf")  // with one, no chat template

// Opens for f32 arithmetic, which the references were computed in. Fails the test when it cannot.
mlxcel_model *open_model(const char *path, int32_t max_sessions);
mlxcel_model *open_files(const char *path);
// A folder with a tokenizer and a chat template, made for this run; removed by folder_remove.
const char *chat_folder(const char *chat_template);
void folder_remove(void);

#define OK(call) ok_(call, #call, __LINE__)
void ok_(mlxcel_status s, const char *call, int line);  // the call's error must be `the_error`
extern mlxcel_error the_error;
#define ERR &the_error
// The call must fail with `want`, and its sentence contain `part`.
#define FAILS(want, part, call) fails_(want, part, call, #call, __LINE__)
void fails_(mlxcel_status want, const char *part, mlxcel_status got, const char *call, int line);

#endif
