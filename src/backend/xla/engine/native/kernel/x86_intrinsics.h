// The vector intrinsics. A test may put an emulation of them in their place, to run what its machine lacks.
#ifdef CEL_INTRINSICS_HEADER
#include CEL_INTRINSICS_HEADER
#else
#include <immintrin.h>
#endif
