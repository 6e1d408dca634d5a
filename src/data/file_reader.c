/* SPDX-License-Identifier: Apache-2.0 */
#include "data/file_reader.h"

#include <math.h>
#include <string.h>

const json_t *sh_file_reader_inputs(const sh_trained *trained, const char *kind)
{
    const json_t *inputs = json_object_get(trained->about, "inputs");
    const char *found = json_string_value(json_object_get(inputs, "kind"));
    return found != NULL && strcmp(found, kind) == 0 ? inputs : NULL;
}

size_t sh_file_reader_number(const json_t *object, const char *name, size_t most)
{
    const json_int_t number = json_integer_value(json_object_get(object, name));
    return number >= 1 && (uint64_t)number <= most ? (size_t)number : 0;
}

bool sh_file_reader_figure(double *figure, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    *figure = json_number_value(value);
    return json_is_number(value) && isfinite(*figure);
}

sh_status sh_file_reader_malformed(void)
{
    return sh_fail(SH_FORMAT,
                   "the checkpoint does not say how its training's samples were read; train again "
                   "with this version");
}
