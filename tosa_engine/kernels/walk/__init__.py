"""Compiled code that runs a plan: it calls the compiled loops of all steps, without Python and without the GIL.

Computes: nothing itself. All loops look alike from outside (a call of C with words of 64 bits, an array is seven of
them), so that one loop can call them from a table of addresses.
Unit of work: pieces of the units of a step, taken by the first worker and by those that help it.
Layout: a program has a row of words for each loop (`walk`); state that threads share has cache lines of its own.

Read: `atomics` (words that several threads use), `walk`, `mailbox` (how helpers are asked), `parts` (parts of a batch).
"""
