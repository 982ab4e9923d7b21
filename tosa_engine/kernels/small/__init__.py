"""Several operators on a few integers as one step: a program of operations that one compiled loop goes through.

A step costs some 50 ns besides its elements, which is most of what a step on a dozen of them takes. LiteRT's softmax
of ten classes is 41 steps as the converter writes it. Read: `places` (the program's words), `loops`, `program`.
"""
