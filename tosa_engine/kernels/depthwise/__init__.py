"""DEPTHWISE_CONV2D of int8 inputs."""
