/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The study gives the trials and the folder's database their states. A trial is marked RUNNING
 * before it starts, so if the program is killed, the next sweep starts it again in an empty folder.
 */
#include "shoal/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stop.h"
#include "store/file.h"
#include "store/sweep_schema.h"
#include "sweep/forecast.h"
#include "sweep/study_file.h"
#include "sweep/trial_command.h"
#include "sweep/trial_process.h"
#include "sweep/trial_result.h"
#include "sweep/trials.h"

typedef struct sweep {
    const sh_sweep_options *asked;
    sh_sweep_result *result;
    const sh_study *study;
    sh_trials *trials; /* NULL: none yet, while only listing */
    char program[SH_PATH_BYTES], lab[SH_PATH_BYTES];
    bool has_lab;

    sh_trial *trial; /* the current one */
    uint32_t number, count;
    double begun, spent_before, left_seconds;
} sweep;

/* ---- paths ---- */

/* The lab is the study's, else SHOAL_LAB, else nearby. */
static sh_status find_programs(sweep *self)
{
    if (self->asked->program != NULL) {
        snprintf(self->program, sizeof self->program, "%s", self->asked->program);
    } else {
        const ssize_t length = readlink("/proc/self/exe", self->program, sizeof self->program - 1);
        if (length < 0)
            return sh_fail_errno(errno, "/proc/self/exe: cannot be read");
        self->program[length] = '\0';
    }
    const char *named = self->study->lab, *slash = strrchr(self->asked->file, '/');
    const bool from_file = named != NULL && named[0] != '/' && slash != NULL;
    if (named == NULL)
        named = getenv("SHOAL_LAB");
    if (named == NULL) {
        /* A folder above the program contains lab/lab in the source tree. */
        char above[SH_PATH_BYTES];
        snprintf(above, sizeof above, "%s", self->program);
        while (!self->has_lab && (slash = strrchr(above, '/')) != NULL && slash != above) {
            above[slash - above] = '\0';
            self->has_lab =
                sh_path_join(self->lab, above, "lab/lab") == SH_OK && access(self->lab, X_OK) == 0;
        }
        return SH_OK;
    }
    self->has_lab = true;
    const int length =
        snprintf(self->lab, sizeof self->lab, "%.*s%s",
                 from_file ? (int)(slash - self->asked->file) + 1 : 0, self->asked->file, named);
    if ((size_t)length >= sizeof self->lab || access(self->lab, X_OK) != 0)
        return sh_fail(SH_NOT_FOUND, "%s: is not the lab's program (%s)", self->lab,
                       self->study->lab != NULL ? "'lab' of the study" : "SHOAL_LAB");
    return SH_OK;
}

/* Empties and closes the folder. Returns 0 or the first errno. (On 32-bit systems fts(3) stops at
 * files with 64-bit inode numbers.) */
static int remove_inside(int folder)
{
    int error = 0;
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    if (entries == NULL) {
        error = errno;
        if (folder >= 0)
            close(folder);
        return error;
    }
    for (const struct dirent *each; (each = readdir(entries)) != NULL;) {
        const char *name = each->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(entries), name, 0) == 0)
            continue;
        int wrong = errno;
        if (wrong == EISDIR || wrong == EPERM) { /* Linux, POSIX */
            const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
            wrong = remove_inside(openat(dirfd(entries), name, flags));
            if (unlinkat(dirfd(entries), name, AT_REMOVEDIR) != 0 && wrong == 0)
                wrong = errno;
        }
        if (wrong != ENOENT && error == 0)
            error = wrong;
    }
    closedir(entries);
    return error;
}

static sh_status remove_folder(const char *folder)
{
    const int open_folder = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (open_folder < 0 && errno == ENOENT)
        return SH_OK;
    const int error = remove_inside(open_folder);
    if (error != 0 || (rmdir(folder) != 0 && errno != ENOENT))
        return sh_fail_errno(error != 0 ? error : errno, "%s: cannot be removed", folder);
    return SH_OK;
}

/* ---- one trial ---- */

static void tell(const sweep *self, sh_sweep_event_kind kind, double seconds)
{
    const double left = self->left_seconds - (kind == SH_SWEEP_END ? 0 : seconds);
    const sh_sweep_event event = {
        .kind = kind,
        .folder = self->result->folder,
        .trial = self->trial,
        .number = self->number,
        .count = self->count,
        .seconds = seconds,
        .left_seconds = left < 0 ? 0 : left,
    };
    if (self->asked->observer != NULL)
        self->asked->observer(self->asked->context, &event);
}

static sh_status tick(void *context, double seconds)
{
    sweep *self = context;
    self->trial->spent_seconds = self->spent_before + seconds;
    tell(self, SH_SWEEP_TICK, seconds);
    return sh_trials_save(self->trials, self->trial, self->begun);
}

static sh_trial_place place_of(const sweep *self, const char *folder)
{
    return (sh_trial_place){folder, self->program, self->has_lab ? self->lab : NULL};
}

static sh_status run_programs(sweep *self, const char *folder, int *exit_status)
{
    char log[SH_PATH_BYTES], lab_file[SH_PATH_BYTES];
    sh_trial_command command;
    const sh_trial_place place = place_of(self, folder);
    SH_TRY(sh_trial_command_make(&command, self->trial->settings, &place));
    sh_status status;
    SH_TRY_DONE(sh_path_join(log, folder, SH_TRIAL_LOG));
    SH_TRY_DONE(sh_path_join(lab_file, folder, SH_TRIAL_LAB_FILE));
    if (command.lab_file != NULL)
        SH_TRY_DONE(sh_file_replace(lab_file, command.lab_file, strlen(command.lab_file)));
    status = sh_trial_process_run(exit_status, &(sh_trial_process){
                                                   .arguments = command.arguments,
                                                   .log = log,
                                                   .clock = sh_clock_system(),
                                                   .stop = self->asked->stop,
                                                   .tick = tick,
                                                   .context = self,
                                               });
done:
    sh_trial_command_release(&command);
    return status;
}

static double date_seconds(void)
{
    const struct timespec now = sh_clock_date();
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double forecast(const sweep *self)
{
    return sh_forecast(self->result->trials, self->result->trial_count, self->asked->only);
}

static sh_status run_trial(sweep *self)
{
    char trials[SH_PATH_BYTES], folder[SH_PATH_BYTES];
    int exit_status;
    sh_trial *trial = self->trial;
    SH_TRY(sh_path_join(trials, self->result->folder, "trials"));
    SH_TRY(sh_path_join(folder, trials, trial->id));
    SH_TRY(remove_folder(folder));
    SH_TRY(sh_folder_make(folder));

    trial->state = SH_TRIAL_RUNNING;
    trial->attempts++;
    trial->message[0] = '\0';
    self->begun = date_seconds();
    self->spent_before = trial->spent_seconds;
    self->left_seconds = forecast(self);
    SH_TRY(sh_trials_save(self->trials, trial, self->begun));
    tell(self, SH_SWEEP_BEGIN, 0);

    const uint64_t began_ns = sh_clock_now_ns(sh_clock_system());
    const sh_status status = run_programs(self, folder, &exit_status);
    const double seconds = (double)(sh_clock_now_ns(sh_clock_system()) - began_ns) * 1e-9;
    trial->spent_seconds = self->spent_before + seconds;
    trial->state = SH_TRIAL_WAITING;
    if (status == SH_OK) {
        sh_trial_result_read(trial, folder, exit_status);
        trial->figures[SH_TRIAL_FIGURE_wall_seconds] = seconds;
        self->left_seconds = forecast(self);
    }
    if (sh_trials_save(self->trials, trial, self->begun) != SH_OK && status == SH_OK)
        return sh_fail_in(SH_IO, "saving a trial's results");
    tell(self, SH_SWEEP_END, seconds);
    return status;
}

/* ---- all of them ---- */

static bool is_asked_for(const sweep *self, const sh_trial *trial)
{
    const char *filter = self->asked->only;
    return (trial->state == SH_TRIAL_WAITING ||
            (trial->state == SH_TRIAL_FAILED && self->asked->retry)) &&
           (filter == NULL || sh_study_matches(filter, trial->settings));
}

static bool is_repeated(const sweep *self, size_t place)
{
    const sh_trial *trials = self->result->trials;
    for (size_t i = 0; i < place; i++)
        if (memcmp(trials[i].id, trials[place].id, sizeof trials[i].id) == 0)
            return true;
    return false;
}

static sh_status do_all(sweep *self)
{
    const sh_trial_place place = place_of(self, self->result->folder);
    /* Report missing requirements before the first trial starts. */
    for (size_t i = 0; i < self->result->trial_count; i++) {
        sh_trial_command command;
        const sh_trial *trial = &self->result->trials[i];
        if (!is_asked_for(self, trial) || is_repeated(self, i))
            continue;
        if (sh_study_trial_is_lab(trial->settings) && geteuid() != 0)
            return sh_fail(SH_PERMISSION,
                           "'cpu', 'link', 'delay' and 'ram' need the lab, which needs root for "
                           "namespaces and quotas: run it with sudo, or leave them out");
        SH_TRY(sh_trial_command_make(&command, trial->settings, &place));
        sh_trial_command_release(&command);
        self->count++;
    }
    for (size_t i = 0; i < self->result->trial_count; i++) {
        self->trial = &self->result->trials[i];
        if (!is_asked_for(self, self->trial))
            continue;
        if (is_repeated(self, i)) {
            SH_TRY(sh_trials_load(self->trials, self->trial));
            continue;
        }
        if (sh_stop_requested(self->asked->stop))
            return sh_fail(SH_STOPPED, "stopped on request");
        self->number++;
        SH_TRY(run_trial(self));
    }
    return SH_OK;
}

static sh_status list_or_do(sweep *self)
{
    sh_sweep_result *result = self->result;
    const bool list = self->asked->list;
    if (!list)
        SH_TRY(find_programs(self));
    const sh_status opened =
        sh_trials_open(&self->trials, result->folder, list ? SH_DATABASE_READ : SH_DATABASE_WRITE);
    if (opened != SH_OK && !(list && opened == SH_NOT_FOUND))
        return opened;
    if (!list)
        SH_TRY(sh_trials_take(self->trials, self->study, self->asked->file, date_seconds()));

    result->trials = calloc(self->study->trial_count, sizeof *result->trials);
    if (result->trials == NULL)
        return sh_fail_memory(self->study->trial_count * sizeof *result->trials, "a sweep");
    result->trial_count = self->study->trial_count;
    for (size_t i = 0; i < result->trial_count; i++) {
        const sh_study_trial *planned = &self->study->trials[i];
        sh_trial *trial = &result->trials[i];
        trial->block = planned->block;
        memcpy(trial->id, planned->id, sizeof trial->id);
        memcpy(trial->settings, planned->settings, sizeof trial->settings);
        if (self->trials != NULL)
            SH_TRY(sh_trials_load(self->trials, trial));
    }
    if (self->trials != NULL)
        SH_TRY(sh_trials_others(self->trials, &result->others));
    return list ? SH_OK : do_all(self);
}

sh_status sh_sweep(const sh_sweep_options *options, sh_sweep_result *result)
{
    sh_study *study;
    sh_sweep_result made = {.trial_count = 0};
    sweep *self = calloc(1, sizeof *self);
    if (self == NULL)
        return sh_fail_memory(sizeof *self, "a sweep");
    self->asked = options;
    self->result = &made;
    sh_status status;
    if (options->only != NULL)
        SH_TRY_DONE(sh_study_check_filter(options->only));
    /* runs/ + the file's name without its extension. */
    const char *slash = strrchr(options->file, '/');
    const char *name = slash == NULL ? options->file : slash + 1, *end = strrchr(name, '.');
    const int letters = (int)(end == NULL || end == name ? strlen(name) : (size_t)(end - name));
    const int length = options->folder != NULL
                           ? snprintf(made.folder, SH_RUN_BYTES, "%s", options->folder)
                           : snprintf(made.folder, SH_RUN_BYTES, "runs/%.*s", letters, name);
    if (length >= SH_RUN_BYTES)
        SH_TRY_DONE(sh_fail(SH_LIMIT, "%s: the path is too long", options->folder));
    SH_TRY_DONE(sh_study_read(&study, options->file));
    self->study = study;
    made.inside = study;
    status = list_or_do(self);
    for (size_t i = 0; i < made.trial_count; i++) {
        const sh_trial_state state = made.trials[i].state;
        made.done += state == SH_TRIAL_DONE;
        made.failed += state == SH_TRIAL_FAILED;
        made.waiting += state != SH_TRIAL_DONE && state != SH_TRIAL_FAILED;
    }
    sh_trials_close(self->trials);
done:
    free(self);
    if (status == SH_OK || status == SH_STOPPED)
        *result = made;
    else
        sh_sweep_result_release(&made);
    return status;
}

void sh_sweep_result_release(sh_sweep_result *result)
{
    free(result->trials);
    sh_study_free(result->inside);
    result->trials = NULL;
    result->inside = NULL;
}
