/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/cuda_calls.h"

#include "base/library.h"

sh_status sh_cuda_load(cuda_calls *calls)
{
    static const sh_library_name names[] = {
#define CALL_NAME(name, parameters) SH_LIBRARY_NAME(cuda_calls, name),
        SH_CUDA_CALLS(CALL_NAME)
#undef CALL_NAME
    };
    static sh_library library = SH_LIBRARY("libcuda.so.1", "libcuda1", names);
    return sh_library_load(calls, &library);
}

sh_status sh_cuda_judge(CUresult result, const char *whom, const char *doing)
{
    static const struct {
        CUresult number;
        sh_status status;
        const char *name, *meaning;
    } errors[] = {
#define ERROR_ROW(number, name, status, meaning) {number, SH_##status, #name, meaning},
        SH_CUDA_ERRORS(ERROR_ROW)
#undef ERROR_ROW
    };
    if (result == 0)
        return SH_OK;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == result)
            return sh_fail(errors[i].status, "%s: %s failed: %s%sCUDA error %d, %s", whom, doing,
                           errors[i].meaning, errors[i].meaning[0] == '\0' ? "" : "; ", result,
                           errors[i].name);
    return sh_fail(SH_IO, "%s: %s failed: CUDA error %d", whom, doing, result);
}
