"""Better than plain post-training quantization: methods that change a float network so that its integers lose less.

`equalize` and `smooth` move scales between layers (the float function stays the same, bit by bit), `rounding` chooses
for every weight whether it rounds up or down, `bias` takes the mean error of a layer out of its bias. All work on the
TOSA-FP graph; what they measure is measured with the integer graph. `post_training` puts them together.
"""
