/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/doors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/file.h"

#define LINE_BYTES (SH_TOKEN_HOST + 8)

void sh_doors_add(sh_doors *doors, const sh_door *door)
{
    uint32_t at = 0;
    while (at < doors->count &&
           (strcmp(doors->items[at].host, door->host) != 0 || doors->items[at].port != door->port))
        at++;
    if (at == SH_INQUIRY_DOORS_MAX)
        at = 0;
    if (at < doors->count)
        memmove(&doors->items[at], &doors->items[at + 1], (doors->count - at - 1) * sizeof *door);
    else
        doors->count++;
    doors->items[doors->count - 1] = *door;
}

sh_status sh_doors_write(const sh_doors *doors, const char *path)
{
    char text[SH_INQUIRY_DOORS_MAX * LINE_BYTES];
    size_t bytes = 0;
    for (uint32_t i = 0; i < doors->count; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s %u\n",
                                  doors->items[i].host, (unsigned)doors->items[i].port);
    return sh_file_replace_private(path, text, bytes);
}

static bool read_line(sh_door *door, char *line)
{
    char *blank = strchr(line, ' '), *end;
    if (blank == NULL || blank == line || (size_t)(blank - line) >= sizeof door->host)
        return false;
    const unsigned long port = strtoul(blank + 1, &end, 10);
    if (blank[1] < '0' || blank[1] > '9' || *end != '\0' || port == 0 || port > UINT16_MAX)
        return false;
    *blank = '\0';
    *door = (sh_door){.port = (uint16_t)port};
    snprintf(door->host, sizeof door->host, "%s", line);
    return true;
}

void sh_doors_read(sh_doors *doors, const char *path)
{
    char *text, *rest = NULL;
    sh_door door;
    *doors = (sh_doors){0};
    if (sh_file_read_own(&text, NULL, path, SH_INQUIRY_DOORS_MAX * LINE_BYTES) != SH_OK)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (read_line(&door, line))
            sh_doors_add(doors, &door);
    free(text);
}
