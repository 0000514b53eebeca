"""The Python side of oomph: watches a training script on a ghost GPU and writes what it saw as events.

Nothing in here imports torch or anything heavy by itself: it waits until the script does.
"""
