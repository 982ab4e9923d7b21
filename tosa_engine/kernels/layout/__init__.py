"""What moves values without computing: copies between views of arrays, and rows by index.

Unit of work: an index of the first axis that is longer than 1, or a row.
Layout: any strides; elements are unsigned integers of their size, so that there is one loop for each size.

Read: `lines` (loops over neighbours, which other families use, too), `copies` (how a copy is described), `loops`.
"""
