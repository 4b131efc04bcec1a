"""The video of the DASH laboratory: twenty rates of one synthetic clip, in chunks of 2 s.

One small clip is encoded once. Each rate gets copies of its chunks, padded to their size with a
`free` box (ISO/IEC 14496-12 section 8.1.2), which a player must skip. So as many bytes as the
study's clip has cross the network and every chunk decodes, but the picture is the same at all
rates. The padding is a hole in a sparse file. Sizes vary from chunk to chunk by up to 20 % about
the rate, the same pattern at all rates, as scenes do.
"""
import hashlib
import os
import struct
import subprocess

# The twenty rates of the 2 s DASH set of BigBuckBunny, in kbit/s.
RATES = [46, 89, 128, 178, 217, 255, 323, 374, 506, 573, 780, 1000, 1200, 1500, 2100, 2400, 2900,
         3300, 3600, 4200]
CHUNK_S = 2


def factor(number):
    """A chunk's size over its rate's mean: 0.8 to 1.2, from the chunk's number."""
    digest = hashlib.sha256(f"chunk {number}".encode()).digest()
    return 0.8 + 0.4 * int.from_bytes(digest[:4], "big") / (1 << 32)


def encode(folder, seconds):
    """The clip: init.mp4, 1.m4s, 2.m4s and so on; returns the number of chunks."""
    os.makedirs(folder, exist_ok=True)
    frames = 10 * CHUNK_S
    subprocess.run(
        ["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "lavfi",
         "-i", "testsrc2=size=128x72:rate=10", "-t", str(seconds), "-c:v", "libx264",
         "-profile:v", "baseline", "-preset", "ultrafast", "-crf", "51", "-g", str(frames),
         "-keyint_min", str(frames), "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-f", "dash",
         "-seg_duration", str(CHUNK_S), "-use_timeline", "0", "-use_template", "1",
         "-init_seg_name", "init.mp4", "-media_seg_name", "$Number$.m4s", "clip.mpd"],
        check=True, cwd=folder)
    return seconds // CHUNK_S


def pad(source, target, size):
    """Copies a chunk and makes it `size` bytes long."""
    with open(source, "rb") as file:
        chunk = file.read()
    padding = size - len(chunk)
    if padding < 8:
        raise SystemExit(f"dash: {source} has {len(chunk)} bytes, too many for {size}")
    with open(target, "wb") as file:
        file.write(chunk + struct.pack(">I4s", padding, b"free"))
        file.truncate(size)


def make(folder, seconds):
    """Makes the whole set, unless it is there: manifest.mpd and a folder for each rate."""
    manifest = os.path.join(folder, f"manifest-{seconds}.mpd")
    if os.path.exists(manifest):
        return manifest
    clip = os.path.join(folder, "clip")
    chunks = encode(clip, seconds)
    for index, rate in enumerate(RATES):
        place = os.path.join(folder, str(index))
        os.makedirs(place, exist_ok=True)
        for number in range(1, chunks + 1):
            size = int(rate * 1000 / 8 * CHUNK_S * factor(number))
            name = f"{number}.m4s"
            pad(os.path.join(clip, name), os.path.join(place, name), size)
    with open(os.path.join(clip, "clip.mpd")) as file:
        codec = file.read().split('codecs="')[1].split('"')[0]
    representations = "\n".join(
        f'      <Representation id="{index}" mimeType="video/mp4" codecs="{codec}" '
        f'bandwidth="{rate * 1000}" width="128" height="72"/>'
        for index, rate in enumerate(RATES))
    with open(manifest, "w") as file:
        file.write(f"""<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011"
     type="static" mediaPresentationDuration="PT{seconds}S" minBufferTime="PT{CHUNK_S}S">
  <Period id="0" start="PT0S">
    <AdaptationSet contentType="video" segmentAlignment="true" startWithSAP="1">
      <SegmentTemplate timescale="1" duration="{CHUNK_S}" startNumber="1"
          initialization="clip/init.mp4" media="$RepresentationID$/$Number$.m4s"/>
{representations}
    </AdaptationSet>
  </Period>
</MPD>
""")
    return manifest
