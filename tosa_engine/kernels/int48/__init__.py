"""Convolutions and matrix products of int16, whose accumulators are int48.

Computes: CONV2D and DEPTHWISE_CONV2D of int16 by int8, MATMUL of int16 by int16; and a CONV2D that two RESCALEs read.
K is cut into chunks whose sums fit int32, which are added up in int64; where all of K fits, it is one chunk.
Unit of work and layout: as in `tile` (pairs of int16); a depthwise window takes two taps at a time.

Read: `loops`, `prepare`, `matmul`; `taps` (depthwise windows), `depthwise`; `two_outputs_loops`, `two_outputs`.
"""
