// What values are made of, for the files behind json.h.
#ifndef CEL_BASE_JSON_PRIVATE_H
#define CEL_BASE_JSON_PRIVATE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/json.h"

typedef struct cel_json_doc {
  atomic_long refs;
  cel_arena arena;               // all values, keys and texts of the document
  struct cel_json_doc **holds;   // malloc'ed: documents whose values stand in this one, once per count
  size_t n_holds, cap_holds;
  uint64_t seed[2];              // of the hash
  struct cel_json_doc *next_dead;
} cel_json_doc;

typedef struct cel_json_member {
  const char *key;  // NUL-terminated
  size_t n;
  cel_json *value;
  uint32_t hash;
} cel_json_member;

struct cel_json {
  cel_json_kind kind;
  cel_json_doc *doc;  // NULL: null, true and false, which are nobody's
  union {
    int64_t integer;
    double real;
    cel_str text;
    struct { cel_json **at; size_t n, cap; } array;
    struct { cel_json_member *at; uint32_t n, cap, *slots, mask; } object;  // slots: member + 1, open addressing; NULL while few
  } as;
};

enum { CEL_JSON_FEW = 8 };  // members that are searched one by one

cel_json_doc *cel_json_doc_new(size_t first_block);
void cel_json_doc_unref(cel_json_doc *doc);
cel_json *cel_json_doc_value(cel_json_doc *doc, cel_json_kind kind);
// A copy in the document, with a NUL behind it.
const char *cel_json_doc_text(cel_json_doc *doc, cel_str s);

uint32_t cel_json_hash(const cel_json_doc *doc, cel_str key);
// Member i joins the index, which is made or enlarged when it is time. -1: memory; 1: there is such a key already.
int cel_json_index_add(cel_json *object, uint32_t i);

#endif
