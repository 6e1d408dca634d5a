/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device files of GPU drivers. A driver without access to them reports no GPU, or an unspecific
 * failure.
 *
 *     static const char *const files[] = {"/dev/nvidiactl", "/dev/nvidia0", NULL};
 *     const char *forbidden = sh_gpu_forbidden_file(files);
 *
 * Threads: any.
 */
#ifndef SHOAL_GPU_DEVICE_FILES_H
#define SHOAL_GPU_DEVICE_FILES_H

/* Returns the first existing file of the NULL-terminated list that this process may not read and
 * write, or NULL. */
const char *sh_gpu_forbidden_file(const char *const *files);

#endif
