/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of mountinfo (proc(5)):  31 23 0:28 ROOT PLACE options ... - cgroup source rw,cpu,cpuacct
 * A line of cgroup:               1:cpu,cpuacct:PATH     of version 2   0::PATH
 *
 * The folder is PLACE + PATH relative to ROOT. In a container ROOT may be below PATH, or PATH may
 * be outside of ROOT (/.., of another namespace). Then only PLACE is visible.
 */
#include "monitor/cgroup.h"

#include <string.h>

typedef struct span {
    const char *start;
    size_t bytes;
} span;

static span until(const char *start, const char *ends)
{
    return (span){start, strcspn(start, ends)};
}

static bool is(span word, const char *text)
{
    return strlen(text) == word.bytes && memcmp(word.start, text, word.bytes) == 0;
}

/* `list` is comma-separated and ends at one of `ends`. */
static bool lists(const char *list, const char *word, const char *ends)
{
    char stops[8] = ",";
    strncat(stops, ends, sizeof stops - 2);
    for (span item = until(list, stops);; item = until(list, stops)) {
        if (is(item, word))
            return true;
        list = item.start + item.bytes;
        if (*list++ != ',')
            return false;
    }
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\0' ? NULL : line + 1;
}

typedef struct mount {
    int version; /* 0: no control groups */
    span root, place;
} mount;

static mount mount_of(const char *line, const char *controller)
{
    span fields[5]; /* number, parent, device, root, place */
    for (int i = 0; i < 5; i++) {
        fields[i] = until(line, " \n");
        if (fields[i].bytes == 0 || fields[i].start[fields[i].bytes] != ' ')
            return (mount){0};
        line = fields[i].start + fields[i].bytes + 1;
    }
    const span rest = until(line, "\n");
    const char *dash = strstr(line, "- ");
    while (dash != NULL && dash < rest.start + rest.bytes && dash[-1] != ' ')
        dash = strstr(dash + 1, "- ");
    if (dash == NULL || dash >= rest.start + rest.bytes)
        return (mount){0};
    const span kind = until(dash + 2, " \n");
    if (is(kind, "cgroup2"))
        return (mount){2, fields[3], fields[4]};
    if (!is(kind, "cgroup") || kind.start[kind.bytes] != ' ')
        return (mount){0};
    const span source = until(kind.start + kind.bytes + 1, " \n");
    if (source.start[source.bytes] != ' ' ||
        !lists(source.start + source.bytes + 1, controller, " \n"))
        return (mount){0};
    return (mount){1, fields[3], fields[4]};
}

/* Empty if no line names the process's group. */
static span find_path(const char *cgroup, int version, const char *controller)
{
    for (const char *line = cgroup; line != NULL; line = next_line(line)) {
        const span number = until(line, ":\n");
        if (number.start[number.bytes] != ':')
            continue;
        const span controllers = until(number.start + number.bytes + 1, ":\n");
        if (controllers.start[controllers.bytes] != ':')
            continue;
        if (version == 2 ? is(number, "0") && controllers.bytes == 0
                         : lists(controllers.start, controller, ":"))
            return until(controllers.start + controllers.bytes + 1, "\n");
    }
    return (span){"", 0};
}

/* The part after the root, with its slash; empty if the path is not below the root. */
static span below(span path, span root)
{
    if (root.bytes == 1)
        root.bytes = 0; /* "/" */
    if (path.bytes <= root.bytes || memcmp(path.start, root.start, root.bytes) != 0 ||
        path.start[root.bytes] != '/')
        return (span){"", 0};
    const span inside = {path.start + root.bytes, path.bytes - root.bytes};
    const bool outside = inside.bytes >= 3 && memcmp(inside.start, "/..", 3) == 0;
    return inside.bytes == 1 || outside ? (span){"", 0} : inside;
}

bool sh_cgroup_find(sh_cgroup *place, const char *mountinfo, const char *cgroup,
                    const char *controller)
{
    mount top = {0}; /* version 1, else the first of version 2 */
    for (const char *line = mountinfo; line != NULL && top.version != 1; line = next_line(line)) {
        const mount this = mount_of(line, controller);
        if (this.version == 1 || top.version == 0)
            top = this;
    }
    if (top.version == 0)
        return false;
    const span path = find_path(cgroup, top.version, controller);
    if (path.bytes == 0)
        return false;
    const span inside = below(path, top.root);
    if (top.place.bytes + inside.bytes >= sizeof place->folder)
        return false;
    place->version = top.version;
    place->mount_bytes = top.place.bytes;
    memcpy(place->folder, top.place.start, top.place.bytes);
    memcpy(place->folder + top.place.bytes, inside.start, inside.bytes);
    place->folder[top.place.bytes + inside.bytes] = '\0';
    return true;
}

bool sh_cgroup_up(sh_cgroup *place)
{
    if (strlen(place->folder) <= place->mount_bytes)
        return false;
    *strrchr(place->folder, '/') = '\0';
    return true;
}
