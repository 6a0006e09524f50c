"""Use the package as it is installed: resize, filter and encode."""  # noqa: INP001 (a script, no package)

import io

from PIL import Image, ImageFilter, features

image = Image.linear_gradient("L").convert("RGB")
small = image.resize((64, 64), Image.Resampling.LANCZOS).filter(ImageFilter.SHARPEN)
encoded = io.BytesIO()
small.save(encoded, "JPEG")
if Image.open(io.BytesIO(encoded.getvalue())).size != (64, 64):
    raise SystemExit("a JPEG does not come back as it was")
if not features.check("libjpeg_turbo"):
    raise SystemExit("it was not built with libjpeg-turbo")
