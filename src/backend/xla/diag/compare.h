// Two arrays compared element by element: the one comparator of taps, micro oracle and tests, and its JSON.
#ifndef CEL_XLA_DIAG_COMPARE_H
#define CEL_XLA_DIAG_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

enum { CEL_DIAG_RANK_MOST = 8 };

// A dense, row-major array in NumPy's words: "<f4", "<i4", ...
typedef struct cel_diag_array {
  const char *name;
  char dtype[4];
  int rank;
  int64_t dims[CEL_DIAG_RANK_MOST];
  const void *data;  // borrowed, of any alignment
} cel_diag_array;

typedef enum cel_criterion_kind {
  CEL_CRITERION_CLOSE,  // fails where |c - r| > abs + rel * |r|
  CEL_CRITERION_BITS,   // fails where the bit patterns (as f32) are not the same; 0 and -0 are not
  CEL_CRITERION_ULP,    // fails where more than `ulp` values of f32 lie between
  CEL_CRITERION_TOP1,   // fails where the largest of a row (the last dimension) is another one
} cel_criterion_kind;

typedef struct cel_criterion {
  cel_criterion_kind kind;
  double abs;    // CLOSE; negative: -abs times the reference's root mean square
  double rel;
  int64_t ulp;
} cel_criterion;

typedef struct cel_difference {
  int64_t at;                    // flat index
  int64_t coordinate[CEL_DIAG_RANK_MOST];  // in the candidate's dimensions
  double reference, candidate;
  uint32_t reference_bits, candidate_bits;  // as f32, of integers their low 32 bits
  double abs, rel;
  int64_t ulp;
} cel_difference;

typedef struct cel_comparison {
  int64_t n, failures;
  bool whole;              // whole numbers: any difference fails, whatever the bound (but for TOP1)
  int64_t unequal_bits;
  int64_t non_finite;      // elements where one side is NaN or infinite and the other not the same: always failures
  double abs, rel;         // the bound in force (CLOSE)
  double max_abs, max_rel, rms;  // of candidate - reference, non-finite ones left out; rel where the reference is not 0
  double reference_rms;
  int64_t max_ulp;
  int64_t rows, rows_unequal;    // rows of the last dimension; those whose largest element is another one
  cel_difference first, worst;   // the first that fails, and the one with the largest difference; at < 0: none
  bool passed;
} cel_comparison;

int64_t cel_diag_elements(const cel_diag_array *a);
// CEL_INVALID when the arrays are not of one shape (dimensions of 1 left out of account) or of a type not read here.
CEL_MUST_CHECK cel_status cel_compare(const cel_diag_array *reference, const cel_diag_array *candidate,
                                      const cel_criterion *criterion, cel_comparison *out, cel_err *err);
// "close", "bits", "ulp", "top1".
const char *cel_criterion_name(cel_criterion_kind kind);
bool cel_criterion_by_name(const char *name, cel_criterion_kind *out);

// Appends {"kind":..., bounds}, and a comparison as an object's members without the braces.
void cel_criterion_json(const cel_criterion *c, cel_buf *out);
void cel_comparison_json(const cel_comparison *c, int rank, cel_buf *out);
void cel_difference_json(const cel_difference *d, int rank, cel_buf *out);

#endif
