/* SPDX-License-Identifier: Apache-2.0 */
#include "base/variant.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__arm__)
#include <sys/auxv.h>
#endif

#define HAS(feature) (__builtin_cpu_supports(feature) != 0)

const char *sh_variant_name(sh_variant variant)
{
#define NAME_OF(name, attributes) #name,
    static const char *const names[] = {SH_VARIANT_MAP(NAME_OF)};
    return names[variant];
}

bool sh_variant_runs(sh_variant variant)
{
    switch (variant) {
#define RUNS(name, attributes, runs, unused)                                                       \
    case SH_VARIANT_##name:                                                                        \
        return runs;
        SH_VARIANT_EACH(RUNS, )
    default:
        return false;
    }
}

/* The first variant of this name (NULL: any) that runs; SH_VARIANT_COUNT: none. */
static sh_variant first_of(const char *name)
{
    unsigned variant = 0;
    while (variant < SH_VARIANT_COUNT &&
           (!sh_variant_runs((sh_variant)variant) ||
            (name != NULL && strcmp(sh_variant_name((sh_variant)variant), name) != 0)))
        variant++;
    return (sh_variant)variant;
}

static const char *named_outside(void)
{
    const char *name = getenv("SHOAL_VARIANT");
    return name == NULL || *name == '\0' ? NULL : name;
}

/* Keeps the first answer. SH_VARIANT_COUNT: a wrong name. */
static sh_variant kept(void)
{
    static atomic_uint answer; /* plus 1; 0: none yet */
    unsigned now = atomic_load_explicit(&answer, memory_order_relaxed);
    if (now == 0) {
        unsigned none = 0;
        now = 1 + (unsigned)first_of(named_outside());
        if (!atomic_compare_exchange_strong(&answer, &none, now))
            now = none;
    }
    return (sh_variant)(now - 1);
}

sh_status sh_variant_find(sh_variant *variant, const char *name)
{
    const sh_variant found = name == NULL ? kept() : first_of(name);
    if (found != SH_VARIANT_COUNT) {
        *variant = found;
        return SH_OK;
    }
    char names[64] = "";
    for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
        const size_t used = strlen(names);
        if (sh_variant_runs((sh_variant)v))
            snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ",
                     sh_variant_name((sh_variant)v));
    }
    const char *const outside = named_outside();
    return name != NULL ? sh_fail(SH_INVALID, "variant '%s': this processor runs %s", name, names)
                        : sh_fail(SH_INVALID, "SHOAL_VARIANT '%s': this processor runs %s",
                                  outside == NULL ? "" : outside, names);
}

sh_variant sh_variant_chosen(void)
{
    const sh_variant variant = kept();
    return variant == SH_VARIANT_COUNT ? first_of(NULL) : variant;
}
