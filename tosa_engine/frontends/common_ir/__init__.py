"""Common IR: `.cir.json` files of graphs and libraries, the ancestor of ONNX as JSON.

A document is read, checked by the rules of the text (`rules`), freed of functions and collections (`flatten`), and
becomes an ONNX model, which the ONNX front end maps. It needs the package `onnx` (extra `onnx`).
"""
