import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        fft_rfft = torch._C._fft.fft_rfft(x, dim = -1, norm = 'ortho');  x = None
        abs_1 = torch.abs(fft_rfft);  fft_rfft = None
        return (abs_1,)
