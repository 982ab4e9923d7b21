"""The files of an NNEF document (chapter 5): containers, tensors, quantization, and writing them."""
