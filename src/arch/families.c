// The list of families, made from family.def.
#include "arch/arch.h"

#define CEL_FAMILY(name) extern const cel_family cel_family_##name;
#include "arch/family.def"
#undef CEL_FAMILY

const cel_family *const cel_families[] = {
#define CEL_FAMILY(name) &cel_family_##name,
#include "arch/family.def"
#undef CEL_FAMILY
    NULL,
};
