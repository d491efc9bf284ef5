// What values are made of, for the files behind json.h.
#ifndef CEL_BASE_JSON_PRIVATE_H
#define CEL_BASE_JSON_PRIVATE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/json.h"

typedef struct cel_json_doc {
  atomic_long refs;
  char *text;                    // malloc'ed: what was read. Keys and texts written without escapes stay in it
  cel_arena arena;               // all values, and the other keys and texts
  cel_json *spare;               // values made beforehand
  uint32_t n_spare, chunk;       // how many; how many were made the last time
  struct cel_json_doc **holds;   // malloc'ed: documents whose values stand in this one, once per count
  size_t n_holds, cap_holds;
  uint64_t seed[2];              // of the hash
  struct cel_json_doc *next_dead;
} cel_json_doc;

typedef struct cel_json_member {
  const char *key;  // NUL-terminated
  uint32_t n, hash;
  cel_json *value;
} cel_json_member;

typedef struct cel_json_members {
  uint32_t *slots;     // [mask + 1] open addressing, 0 = free; under the mask: member + 1, above it: that part of its hash.
  uint32_t mask, cap;  // NULL while there are few
  cel_json_member at[];  // [cap]
} cel_json_members;

struct cel_json {
  cel_json_kind kind;
  cel_json_doc *doc;  // NULL: null, true and false, which are nobody's
  union {
    int64_t integer;
    double real;
    cel_str text;
    struct { cel_json **at; uint32_t n, cap; } array;
    struct { cel_json_members *in; uint32_t n; } object;  // NULL as long as there was never one
  } as;
};

enum { CEL_JSON_FEW = 8 };  // members that are searched one by one
#define CEL_JSON_BYTES_MOST ((size_t)UINT32_MAX - 16)  // of a whole text that is read, of a key

// `text` of n bytes and a NUL behind them is malloc'ed and taken over, in any case. As cel_json_parse otherwise.
CEL_MUST_CHECK cel_status cel_json_parse_taking(char *text, size_t n, const char *name, cel_json **out, cel_err *err);

cel_json_doc *cel_json_doc_new(size_t first_block);
void cel_json_doc_unref(cel_json_doc *doc);
cel_json *cel_json_doc_value(cel_json_doc *doc, cel_json_kind kind);
// A copy in the document, with a NUL behind it.
const char *cel_json_doc_text(cel_json_doc *doc, cel_str s);

uint32_t cel_json_hash(const cel_json_doc *doc, cel_str key);
// Room for `cap` members in all, at least those there are; false when memory is out.
bool cel_json_members_grow(cel_json *object, size_t cap);
// Member i joins the index, which is made or enlarged when it is time. -1: memory; 1: there is such a key already.
int cel_json_index_add(cel_json *object, uint32_t i);
// The members 0 to n join it, all there is; the object's count follows. *i: the one that was there
// already, n when all is well.
int cel_json_index_all(cel_json *object, uint32_t n, uint32_t *i);

#endif
