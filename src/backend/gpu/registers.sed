# How many groups of 256 items are to share a multiprocessor: NVIDIA's assembler keeps to the registers that this leaves.
/entry gpu_\(conv2d_64x256\|conv2d_grad_input_64x256\|conv2d_grad_weight_128\|product_64\|product_32\)(/,/^)/ s/^)/)\n.maxntid 256, 1, 1\n.minnctapersm 2/
/entry gpu_conv2d_grad_weight_32(/,/^)/ s/^)/)\n.maxntid 256, 1, 1\n.minnctapersm 3/
