/* SPDX-License-Identifier: Apache-2.0 */
#include "data/description.h"

#include <stdio.h>

json_t *sh_description_read(const char *text)
{
    return text == NULL ? NULL : json_loads(text, 0, NULL);
}

const char *sh_description_name(const json_t *description, sh_target target, unsigned index,
                                char number[SH_DESCRIPTION_NUMBER])
{
    const json_t *names =
        json_object_get(description, target == SH_TARGET_NUMBERS ? "targets" : "classes");
    const json_t *one = json_array_get(names, index);
    const char *name = json_string_value(json_is_object(one) ? json_object_get(one, "name") : one);
    snprintf(number, SH_DESCRIPTION_NUMBER, "%u", index);
    return name == NULL ? number : name;
}

sh_target_scale sh_description_scale(const json_t *description, unsigned index)
{
    const json_t *target = json_array_get(json_object_get(description, "targets"), index);
    const json_t *mean = json_object_get(target, "mean");
    const json_t *deviation = json_object_get(target, "deviation");
    return (sh_target_scale){
        .mean = json_number_value(mean), /* 0 if missing */
        .deviation = json_is_number(deviation) ? json_number_value(deviation) : 1,
    };
}

const json_t *sh_description_notes(const json_t *description)
{
    const json_t *notes = json_object_get(description, "notes");
    return json_array_size(notes) > 0 ? notes : NULL;
}
