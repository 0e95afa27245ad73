"""A small convolutional net learns handwritten digits (pip install scikit-learn), to above 95 % right."""

import argparse
from functools import partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tb_gradgraph import SummaryWriter

EPOCHS, BATCH, EVERY_N_STEPS = 8, 64, 20


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        conv = partial(nn.Conv2d, kernel_size=3, padding=1)
        self.stem = nn.Sequential(conv(1, 16, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.body = nn.Sequential(conv(16, 32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)).flatten(1))


def main(logdir: str) -> None:
    from sklearn import datasets, model_selection  # here, so that --help needs no scikit-learn

    torch.manual_seed(0)
    images, labels = map(torch.from_numpy, datasets.load_digits(return_X_y=True))
    images = (images / 16).float().view(-1, 1, 8, 8)
    parts = model_selection.train_test_split(images, labels, test_size=0.2, random_state=0)
    images, test_images, labels, test_labels = parts
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    step = 0
    with SummaryWriter(logdir) as writer:
        writer.add_graph(net, images[:BATCH])
        watched = {"every_n_steps": EVERY_N_STEPS, "level": "op", "retain": "*.weight"}
        writer.watch(net, optimizer=optimizer, **watched)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(images)).split(BATCH)[:-1]:  # the last is short
                x, y = images[rows], labels[rows]
                loss = cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss.item(), step)
                step += 1
        right = (net.eval()(test_images).argmax(1) == test_labels).float().mean().item()
        writer.add_scalar("accuracy", right, step)
    print(f"{step} steps, loss {loss.item():.3f}, {right:.1%} of the test images right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/digits", help="where to write (%(default)s)")
    main(**vars(parser.parse_args()))
