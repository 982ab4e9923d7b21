"""Sums in 64 bits that test every partial sum: what runs where no overflow is proved impossible."""
