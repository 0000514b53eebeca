# cause: batch
# cap: 4
# names: hidden = torch.relu(hidden @ weight + bias)
# A network without nn.Module: a list of tensors and a hand-written update.
import torch

sizes = [1024] + [2048] * 12 + [10]
weights = [
    torch.randn(a, b, device="cuda").mul_(a**-0.5).requires_grad_() for a, b in zip(sizes, sizes[1:], strict=False)
]
biases = [torch.zeros(b, device="cuda", requires_grad=True) for b in sizes[1:]]


def network(x):
    hidden = x
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        hidden = torch.relu(hidden @ weight + bias)
    return hidden @ weights[-1] + biases[-1]


for _ in range(5):
    x = torch.randn(32768, 1024, device="cuda")
    y = torch.randint(0, 10, (32768,), device="cuda")
    loss = torch.nn.functional.cross_entropy(network(x), y)
    grads = torch.autograd.grad(loss, weights + biases)
    with torch.no_grad():
        for parameter, grad in zip(weights + biases, grads, strict=True):
            parameter -= 0.01 * grad
