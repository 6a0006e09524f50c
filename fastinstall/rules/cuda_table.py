"""Which driver each CUDA version needs, and which GPUs it has left behind: dated data, with sources.

Verified on 2026-11-22 against copies of NVIDIA's release notes for CUDA 13.2 Update 2 (table 3, every row below) and
of "Minor Version Compatibility" (the branches 450, 525 and 580). Not verified, for want of a copy: that the branches
begin at exactly 525.60.13 and 580.65.06, which are the first drivers of CUDA 12.0 and 13.0 in table 3.
"""

from datetime import date

TAKEN = date(2026, 11, 22)
"""When the data of this module was taken."""

RELEASE_NOTES = "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/"
COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
WHEELS = "https://docs.nvidia.com/deeplearning/dali/user-guide/docs/installation.html"

MINIMUM_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The least Linux driver for any minor version of a CUDA major version ("minor version compatibility").

Source: CUDA Toolkit release notes, table 2, and CUDA Compatibility, "Minor Version Compatibility".
"""

FIRST_DRIVERS = {
    "13.2": "595.45.04",
    "13.1": "590.44.01",
    "13.0": "580.65.06",
    "12.9": "575.51.03",
    "12.8": "570.26",
    "12.6": "560.28.03",
    "12.5": "555.42.02",
    "12.4": "550.54.14",
    "12.3": "545.23.06",
    "12.2": "535.54.03",
    "12.1": "530.30.02",
    "12.0": "525.60.13",
    "11.8": "520.61.05",
    "11.7": "515.43.04",
    "11.6": "510.39.01",
    "11.5": "495.29.05",
    "11.4": "470.42.01",
    "11.3": "465.19.01",
    "11.2": "460.27.03",
    "11.1": "455.23",
    "11.0": "450.36.06",
    "10.2": "440.33",
    "10.1": "418.39",
    "10.0": "410.48",
    "9.2": "396.26",
    "9.1": "390.46",
    "9.0": "384.81",
    "8.0": "367.48",
}
"""The Linux driver that came with the first release of each CUDA version, with which all of its features work.

Before CUDA 11, it is the least driver as well. Source: CUDA Toolkit release notes, table 3.
"""

LEAST_CAPABILITIES = {11: "3.5", 12: "5.0", 13: "7.5"}
"""The least compute capability that a CUDA major version compiles for and has libraries for.

13 has dropped Maxwell, Pascal and Volta (5.0 to 7.2). Source: CUDA Toolkit release notes, "Deprecated or Dropped
Features", and for 11 and 12 cuFFT's "Deprecated Functionality".
"""

DALI_WHEELS = {11: "nvidia-dali-cuda110", 12: "nvidia-dali-cuda120", 13: "nvidia-dali-cuda130"}
"""DALI by CUDA major version; that for 11 is of earlier releases. Source: DALI's User Guide, "Installation"."""

NVIMGCODEC_WHEELS = {11: "nvidia-nvimgcodec-cu11", 12: "nvidia-nvimgcodec-cu12", 13: "nvidia-nvimgcodec-cu13"}
"""nvImageCodec likewise; that for 11 ends with 0.6. Source: nvImageCodec, "Installation", and the package index."""
