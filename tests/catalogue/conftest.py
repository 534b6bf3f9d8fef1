"""One thread per test process: the tensors here are too small to share."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
