# cause: other-process
# cap: none
# names: hidden = torch.empty(40 * 2**30, dtype=torch.uint8, device="cuda")
# A second process sits on most of the card.
import subprocess
import sys

import torch

HOG = """
import torch, sys
free, total = torch.cuda.mem_get_info()
x = torch.empty(int(free * 0.8), dtype=torch.uint8, device="cuda")
print("held", flush=True)
sys.stdin.read()
"""
w = torch.randn(256, 256, device="cuda")
w @ w
hog = subprocess.Popen([sys.executable, "-c", HOG], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
hog.stdout.readline()
try:
    hidden = torch.empty(40 * 2**30, dtype=torch.uint8, device="cuda")
finally:
    hog.stdin.close()
    hog.wait()
