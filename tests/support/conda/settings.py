"""Settings of conda, and channels that are asked for under them: compared with conda itself, and judged by hand.

No host is real.
"""

PRIVATE = """\
channel_alias: https://me:pw@conda.example.org/t/tk-1/api
channels: [forge, https://files.example.org/t/tk-2/tools, plain]
custom_channels:
  team: https://team.example.org:8443/conda
  deep/er: https://u:p@deep.example.org/t/tk-3/x/
  relative: team.example.org
  local-files: file:///srv/channels
custom_multichannels:
  bundle:
    - https://one.example.org/a/b
    - two
    - https://conda.example.org/api/three
"""
MIRRORED = """\
default_channels:
  - https://mirror.example.org/pkgs/main  # the first
  - https://$USER:${PASSWORD}@mirror.example.org/pkgs/extra
"""
CASES = {
    "private": PRIVATE,
    "mirrored": MIRRORED,
    "both": PRIVATE + MIRRORED,
    "flow": "{channel_alias: 'https://conda.example.org', custom_channels: {team: https://t.example.org}}",
    "anchors": "x: &x https://conda.example.org/a\nchannel_alias: *x\ncustom_channels: {team: *x}\n",
}
CHANNELS = (
    *("forge", "forge/label/dev", "team", "team/sub", "teams", "deep/er", "deep/er/sub", "deep", "relative", "plain"),
    *("local-files", "bundle", "two", "a/b", "https://team.example.org:8443/conda/team"),
    *("https://conda.example.org/api/forge", "https://conda.example.org/api/forge/noarch"),
    *("https://elsewhere.example.org/forge", "https://deep.example.org/x/deep/er/more", "file:///srv/other"),
)
