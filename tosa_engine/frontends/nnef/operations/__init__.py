"""The operations of NNEF (chapter 4) as TOSA operators."""
