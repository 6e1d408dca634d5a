# SPDX-License-Identifier: Apache-2.0
"""One rank of an all-reduce by Gloo, as PyTorch offers it; spoken to like bench/all_reduce.c.

    all_reduce_gloo.py WORDS PORT RANK INTERFACE HOST...      (a host for each rank)

Float32, unencrypted. What is added up are small whole numbers, so the sum is exact and every word of it is checked.
"""

import os
import sys
import time


def word(torch, rank, first, count):
    return torch.arange(first, first + count, dtype=torch.int64).remainder_(997).add_(1000 * (rank + 1)).float()


def main():
    words, port, rank = (int(each) for each in sys.argv[1:4])
    interface, hosts = sys.argv[4], sys.argv[5:]
    os.environ["GLOO_SOCKET_IFNAME"] = interface
    import torch
    import torch.distributed as distributed
    torch.set_num_threads(1)
    own = word(torch, rank, 0, words)
    total = sum(word(torch, each, 0, words) for each in range(len(hosts)))
    tensor = own.clone()
    print("listening", flush=True)
    for line in sys.stdin:
        order = line.split()
        if order[0] == "link":
            distributed.init_process_group("gloo", init_method="tcp://%s:%d" % (hosts[0], port), rank=rank,
                                           world_size=len(hosts))
            distributed.barrier()
            print("linked", flush=True)
            continue
        begin = int(order[1])
        time.sleep(max(0, begin - time.monotonic_ns()) / 1e9)
        used = time.process_time_ns()
        distributed.all_reduce(tensor)
        end, used = time.monotonic_ns(), time.process_time_ns() - used
        if not torch.equal(tensor, total):
            sys.exit("all_reduce_gloo: a wrong sum")
        tensor.copy_(own)
        print("done %d %d 0" % (end, used), flush=True)


main()
