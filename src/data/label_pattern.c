/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each part of a path is matched from left to right. A placeholder ends where the next text first
 * occurs after its first character; text at the end of a part is only searched there. This finds
 * any match, because an earlier end leaves more for later placeholders.
 */
#include "data/label_pattern.h"

#include <string.h>

/* --- parsing --- */

static const struct {
    const char *name;
    sh_label_piece kind;
} placeholders[] = {
    {"", SH_LABEL_ANY},
    {"label", SH_LABEL_CLASS},
    {"group", SH_LABEL_GROUP},
    {"split", SH_LABEL_SPLIT},
};

static sh_status find_placeholder(sh_label_piece *kind, const char *form, const char *name,
                                  size_t length)
{
    for (size_t i = 0; i < sizeof placeholders / sizeof *placeholders; i++)
        if (strlen(placeholders[i].name) == length &&
            memcmp(placeholders[i].name, name, length) == 0) {
            *kind = placeholders[i].kind;
            return SH_OK;
        }
    return sh_fail(SH_INVALID,
                   "--label-from %s: unknown {%.*s}; known are: {label}, {group}, {split}, and {} "
                   "for any text",
                   form, (int)length, name);
}

static sh_status note_placeholder(sh_label_pattern *form, sh_label_piece kind)
{
    bool *has = kind == SH_LABEL_CLASS   ? &form->has_label
                : kind == SH_LABEL_GROUP ? &form->has_group
                : kind == SH_LABEL_SPLIT ? &form->has_split
                                         : NULL;
    if (has == NULL)
        return SH_OK;
    if (*has)
        return sh_fail(SH_INVALID, "--label-from %s: a placeholder is given twice", form->text);
    *has = true;
    return SH_OK;
}

static sh_status parse_piece(sh_label_pattern *form, size_t *at)
{
    const char *text = form->text, *here = text + *at;
    sh_label_piece kind = SH_LABEL_TEXT;
    size_t length = strcspn(here, "{}/");
    if (*here == '/') {
        kind = SH_LABEL_SLASH;
        length = 1;
        form->has_slash = true;
    } else if (*here == '{') {
        const size_t name = strcspn(here + 1, "{}/");
        if (here[1 + name] != '}')
            return sh_fail(SH_INVALID, "--label-from %s: the { at column %zu has no }", text,
                           *at + 1);
        SH_TRY(find_placeholder(&kind, text, here + 1, name));
        SH_TRY(note_placeholder(form, kind));
        length = name + 2;
    } else if (*here == '}') {
        return sh_fail(SH_INVALID, "--label-from %s: the } at column %zu has no {", text, *at + 1);
    }
    if (form->count == SH_LABEL_PATTERN_PIECES)
        return sh_fail(SH_INVALID, "--label-from %s: has more than %d pieces", text,
                       SH_LABEL_PATTERN_PIECES);
    const sh_label_piece last = form->count > 0 ? form->pieces[form->count - 1].kind : kind;
    if (form->count > 0 && kind >= SH_LABEL_ANY && last >= SH_LABEL_ANY)
        return sh_fail(SH_INVALID,
                       "--label-from %s: two placeholders need text between them to show where one "
                       "ends; add the character that the names have there",
                       text);
    if (kind == SH_LABEL_SLASH && (form->count == 0 || last == SH_LABEL_SLASH))
        return sh_fail(SH_INVALID, "--label-from %s: a / has nothing before it", text);
    form->pieces[form->count].kind = kind;
    form->pieces[form->count].at = *at;
    form->pieces[form->count++].length = length;
    *at += length;
    return SH_OK;
}

sh_status sh_label_pattern_parse(sh_label_pattern *form, const char *text)
{
    sh_label_pattern fresh = {.count = 0};
    const size_t length = strlen(text);
    if (length >= sizeof fresh.text)
        return sh_fail(SH_INVALID, "--label-from has %zu characters; at most %zu fit", length,
                       sizeof fresh.text - 1);
    memcpy(fresh.text, text, length + 1);
    for (size_t at = 0; at < length;)
        SH_TRY(parse_piece(&fresh, &at));
    if (!fresh.has_label && !fresh.has_group && !fresh.has_split)
        return sh_fail(SH_INVALID,
                       "--label-from '%s': it has neither {label} nor {group} nor {split}; write "
                       "for example {label}_{group}_{}.wav",
                       text);
    if (fresh.pieces[fresh.count - 1].kind == SH_LABEL_SLASH)
        return sh_fail(SH_INVALID, "--label-from %s: it ends with a /; a file needs a name", text);
    *form = fresh;
    return SH_OK;
}

/* --- matching --- */

bool sh_label_split(sh_split *split, const char *name)
{
    static const struct {
        const char *name;
        sh_split split;
    } names[] = {
        {"train", SH_SPLIT_TRAIN},     {"training", SH_SPLIT_TRAIN},
        {"val", SH_SPLIT_VALIDATION},  {"valid", SH_SPLIT_VALIDATION},
        {"test", SH_SPLIT_VALIDATION}, {"validation", SH_SPLIT_VALIDATION},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].name) == 0) {
            *split = names[i].split;
            return true;
        }
    return false;
}

static sh_status mismatch(const sh_label_pattern *form, const char *path, const char *why)
{
    return sh_fail(SH_INVALID, "%s: its name is not of the form --label-from %s: %s", path,
                   form->text, why);
}

static sh_status take(sh_label_match *match, const sh_label_pattern *form, const char *path,
                      sh_label_piece kind, const char *text, size_t length)
{
    char split[SH_LABEL_BYTES];
    char *to = kind == SH_LABEL_CLASS   ? match->label
               : kind == SH_LABEL_GROUP ? match->group
                                        : split;
    if (length == 0)
        return mismatch(form, path, "a placeholder matches no text");
    if (kind == SH_LABEL_ANY)
        return SH_OK;
    if (length >= SH_LABEL_BYTES)
        return mismatch(form, path, "a placeholder stands for more than 255 bytes");
    memcpy(to, text, length);
    to[length] = '\0';
    if (kind == SH_LABEL_SPLIT && !sh_label_split(&match->split, split))
        return mismatch(form, path,
                        "its {split} is not one of train, training, val, valid, validation, test");
    return SH_OK;
}

static const char *find(const char *at, const char *end, const char *text, size_t length)
{
    for (; (size_t)(end - at) >= length; at++)
        if (memcmp(at, text, length) == 0)
            return at;
    return NULL;
}

/* Matches pieces [first, last) with the part [at, end). */
static sh_status match_part(sh_label_match *match, const sh_label_pattern *form, const char *path,
                            size_t first, size_t last, const char *at, const char *end)
{
    for (size_t i = first; i < last; i++) {
        const char *text = form->text + form->pieces[i].at, *stop = end;
        const size_t length = form->pieces[i].length;
        if (form->pieces[i].kind == SH_LABEL_TEXT) {
            if ((size_t)(end - at) < length || memcmp(at, text, length) != 0)
                return mismatch(form, path, "its text differs");
            at += length;
            continue;
        }
        if (i + 1 < last) { /* text follows, as parsing ensures */
            const char *next = form->text + form->pieces[i + 1].at;
            const size_t next_length = form->pieces[i + 1].length;
            const bool ends = i + 2 == last;
            if ((size_t)(end - at) <= next_length)
                return mismatch(form, path, "it is too short");
            stop = find(ends ? end - next_length : at + 1, end, next, next_length);
            if (stop == NULL)
                return mismatch(form, path, "its text differs");
        }
        SH_TRY(take(match, form, path, form->pieces[i].kind, at, (size_t)(stop - at)));
        at = stop;
    }
    return at == end ? SH_OK : mismatch(form, path, "it is longer");
}

sh_status sh_label_pattern_match(sh_label_match *match, const sh_label_pattern *form,
                                 const char *path)
{
    sh_label_match fresh = {.split = SH_SPLIT_TRAIN};
    const char *name = strrchr(path, '/'), *at = path;
    if (!form->has_slash && name != NULL)
        at = name + 1;
    for (size_t first = 0; first < form->count;) {
        size_t last = first;
        while (last < form->count && form->pieces[last].kind != SH_LABEL_SLASH)
            last++;
        const char *end = at + strcspn(at, "/");
        SH_TRY(match_part(&fresh, form, path, first, last, at, end));
        const bool more = last < form->count;
        if (more != (*end == '/'))
            return mismatch(form, path, more ? "it is in fewer folders" : "it is in more folders");
        at = end + (more ? 1 : 0);
        first = last + 1;
    }
    *match = fresh;
    return SH_OK;
}
