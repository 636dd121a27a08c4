"""The image's smoke test: what cells import is there, and a kernel's program for every language."""

import importlib
import shutil
import sys

NAMES = (
    "IPython", "matplotlib_inline", "matplotlib.pyplot", "seaborn", "sklearn", "pandas", "plotly", "PIL.Image",
    "e2b_charts", "requests", "bs4", "openpyxl", "aiohttp", "docx", "imageio", "jinja2", "nltk", "skimage", "soundfile",
    "tornado", "tqdm", "xarray", "xlrd", "yaml",
)  # fmt: skip
for name in NAMES:
    module = importlib.import_module(name)
    sys.stdout.write("%s %s\n" % (name, getattr(module, "__version__", "")))
for program in ("bash", "node", "tsc", "R", "java", "jshell"):
    if shutil.which(program) is None:
        sys.exit("no " + program)
