"""Writes networks of many kinds as ONNX models with random weights: python3 nets.py FOLDER [NAME...]. It needs torch and onnx."""
import sys, warnings
import torch
from torch import nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")


def convolution(channels, filters, window, stride=1, groups=1, activation=nn.SiLU):
    layers = [nn.Conv2d(channels, filters, window, stride, window // 2, groups=groups, bias=False), nn.BatchNorm2d(filters)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class UNet(nn.Module):
    """Images that get smaller and larger again, by transposed convolutions and by resizing, joined with those on the way."""

    def __init__(self, n=16):
        super().__init__()
        block = lambda a, b: nn.Sequential(convolution(a, b, 3, activation=nn.ReLU), convolution(b, b, 3, activation=nn.ReLU))
        self.down = nn.ModuleList([block(3, n), block(n, 2 * n), block(2 * n, 4 * n)])
        self.up, self.last = nn.ConvTranspose2d(4 * n, 2 * n, 2, 2), nn.Conv2d(n, 2, 1)
        self.join = nn.ModuleList([block(4 * n, 2 * n), block(3 * n, n)])

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        y = self.up(self.down[2](F.max_pool2d(b, 2)))
        y = self.join[0](torch.cat([y, b], 1))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.last(self.join[1](torch.cat([y, a], 1))))


class Weighted(nn.Module):
    """Channels times weights that are worked out from their means (squeeze and excitation)."""

    def __init__(self, n):
        super().__init__()
        self.few, self.all = nn.Conv2d(n, n // 4, 1), nn.Conv2d(n // 4, n, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.all(F.silu(self.few(x.mean((2, 3), keepdim=True)))))


class Inverted(nn.Module):
    """A block of EfficientNet: wider, depthwise, narrow again."""

    def __init__(self, a, b, window, stride, wider=6):
        super().__init__()
        n = a * wider
        self.body = nn.Sequential(convolution(a, n, 1), convolution(n, n, window, stride, n), Weighted(n), convolution(n, b, 1, activation=None))
        self.adds = a == b and stride == 1

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class Efficient(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [(32, 16, 3, 1, 1), (16, 24, 3, 2), (24, 24, 3, 1), (24, 40, 5, 2), (40, 40, 5, 1), (40, 80, 3, 2), (80, 80, 3, 1), (80, 112, 5, 1), (112, 192, 5, 2)]
        self.body = nn.Sequential(convolution(3, 32, 3, 2), *[Inverted(*s) for s in sizes], convolution(192, 1280, 1))
        self.last = nn.Linear(1280, 1000)

    def forward(self, x):
        return self.last(self.body(x).mean((2, 3)))


class Normal(nn.Module):
    """Layer normalization of an image's channels."""

    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Next(nn.Module):
    """A block of ConvNeXt: depthwise windows of 7 by 7, then products for each pixel."""

    def __init__(self, n):
        super().__init__()
        self.window, self.norm = nn.Conv2d(n, n, 7, padding=3, groups=n), nn.LayerNorm(n)
        self.wide, self.narrow = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

    def forward(self, x):
        y = self.norm(self.window(x).permute(0, 2, 3, 1))
        return x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        layers, n = [nn.Conv2d(3, 96, 4, 4), Normal(96)], 96
        for wider in (96, 192, 384):
            if wider != n:
                layers += [Normal(n), nn.Conv2d(n, wider, 2, 2)]
            layers += [Next(wider), Next(wider)]
            n = wider
        self.body, self.last = nn.Sequential(*layers), nn.Linear(n, 1000)

    def forward(self, x):
        return self.last(self.body(x).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.cells = kind(128, 256, batch_first=True, **more)

    def forward(self, x):
        return self.cells(x)[0]


class Decoder(nn.Module):
    """A small language model: three layers of attention to what came before."""

    def __init__(self, width=256, heads=4, words=2000, length=128):
        super().__init__()
        self.heads, self.words, self.places = heads, nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) * 0.02)
        layer = lambda: nn.ModuleList([nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width),
                                       nn.Linear(width, 4 * width), nn.Linear(4 * width, width)])
        self.layers = nn.ModuleList([layer() for _ in range(3)])
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("hidden", torch.triu(torch.full((length, length), -1e9), 1))

    def forward(self, t):
        x = self.words(t) + self.places
        n, length, width = x.shape
        for norm, qkv, out, norm2, wide, narrow in self.layers:
            q, k, v = [y.reshape(n, length, self.heads, -1).transpose(1, 2) for y in qkv(norm(x)).split(width, -1)]
            y = torch.softmax(q @ k.transpose(-1, -2) / 8 + self.hidden, -1) @ v
            x = x + out(y.transpose(1, 2).reshape(n, length, width))
            x = x + narrow(F.gelu(wide(norm2(x)), approximate="tanh"))
        return self.last(self.norm(x))


class Encoder(nn.Module):
    """A layer of BERT-base."""

    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow, self.norms = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = [y.reshape(n, length, self.heads, -1).transpose(1, 2) for y in self.qkv(x).split(width, -1)]
        y = torch.softmax(q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5, -1) @ v
        x = self.norms[0](x + self.out(y.transpose(1, 2).reshape(n, length, width)))
        return self.norms[1](x + self.narrow(F.gelu(self.wide(x))))


class Vision(nn.Module):
    """A small vision transformer of patches of 16 by 16 pixels."""

    def __init__(self, n=192):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, n, 16, 16), nn.Parameter(torch.randn(1, 1, n))
        layer = nn.TransformerEncoderLayer(n, 3, 4 * n, batch_first=True, activation="gelu", norm_first=True)
        self.layers, self.last = nn.TransformerEncoder(layer, 3), nn.Linear(n, 100)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        return self.last(self.layers(torch.cat([self.first, y], 1))[:, 0])


def perceptron():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def generator():
    return nn.Sequential(nn.ConvTranspose2d(100, 256, 4, 1, 0), nn.ReLU(), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ReLU(),
                         nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())


def temporal():
    layers = []
    for a, b, apart in ((40, 128, 1), (128, 128, 2), (128, 128, 4)):
        layers += [nn.Conv1d(a, b, 5, padding=2 * apart, dilation=apart), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv1d(128, 64, 1))


def volume():
    return nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(16, 32, 3, padding=1), nn.InstanceNorm3d(32), nn.LeakyReLU())


NETS = {
    "unet": (UNet, (1, 3, 128, 128)), "efficientnet": (Efficient, (1, 3, 224, 224)), "convnext": (ConvNext, (1, 3, 224, 224)),
    "vision_transformer": (Vision, (1, 3, 224, 224)), "decoder": (Decoder, (1, 128)), "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), (1, 64, 128)),
    "lstm_batch8": (lambda: Recurrent(nn.LSTM, num_layers=2), (8, 64, 128)), "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), (1, 64, 128)),
    "encoder": (Encoder, (1, 128, 768)), "mlp": (perceptron, (1, 784)), "mlp_batch256": (perceptron, (256, 784)),
    "generator": (generator, (1, 100, 1, 1)), "temporal": (temporal, (1, 40, 1000)), "volume": (volume, (1, 1, 32, 32, 32)),
}


def lively(net):
    """Gives weights a size with which numbers get neither smaller nor larger from layer to layer, so that results depend on what is given."""
    for layer in net.modules():
        if isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight)
    return net


def main(folder, *names):
    for name in names or NETS:
        torch.manual_seed(0)
        make, shape = NETS[name]
        x = torch.randint(0, 2000, shape) if name == "decoder" else torch.randn(*shape)
        path = f"{folder}/{name}.onnx"
        torch.onnx.export(lively(make()).eval(), (x,), path, opset_version=17, dynamo=False, input_names=["x"], output_names=["y"])
        print(path)


main(*sys.argv[1:])
