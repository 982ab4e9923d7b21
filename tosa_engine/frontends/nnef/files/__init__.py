"""The files of an NNEF document (chapter 5): their names, containers, tensors, quantization."""
