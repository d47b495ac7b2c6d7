"""Measure whether broken frames are read rightly or doubted, and whether unbroken ones are read as they are.

    python -m bench.frame_reading [--aside] [--only KIND ...]

Each case is a reference frame of ../shared changed in one respect, as users' recorders and programs change them. A case
is right if depth and intrinsics are those of the unchanged frame, said if it is refused or has a doubt, else silent
nonsense. Thresholds were set on the frames of FOR_CALIBRATION; --aside takes the others, whose sources differ.
"""

import argparse
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame import Frame, FrameError, Intrinsics, load
from pipeline.frame.reprojection import reproject

SHARED = Path(__file__).resolve().parents[2] / "shared"
FOR_CALIBRATION = ("frames", "anygrasp", "armchair", "cleargrasp", "mallet", "stretch", "ycbv")
"""Starts of folder and frame names; the sources of the others are kept aside."""
Files = dict[str, bytes]


def png(pixels: np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    """Encode pixels as an image file."""
    raw = io.BytesIO()
    Image.fromarray(pixels).save(raw, kind, **options)
    return raw.getvalue()


def numpy_file(save: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    """Return the bytes that np.save or np.savez writes."""
    raw = io.BytesIO()
    save(raw, *arrays, **named)
    return raw.getvalue()


def camera(k: Intrinsics, scale: float | None = None) -> bytes:
    """Return the bytes of camera.json."""
    return json.dumps(vars(k) | ({"depth_scale": scale} if scale else {})).encode()


def integer(values: np.ndarray) -> np.ndarray:
    """Round to uint16; what does not fit is 0."""
    values = np.rint(np.nan_to_num(values))
    return np.where((values > 0) & (values < 65536), values, 0).astype(np.uint16)


def plain(frame: Frame, units: np.ndarray, scale: float | None = None, k: Intrinsics | None = None) -> Files:
    """Return a plain folder with these numbers as depth."""
    return {"rgb.png": png(frame.rgb), "depth.png": png(units), "camera.json": camera(k or frame.intrinsics, scale)}


def archive(frame: Frame, values: np.ndarray) -> Files:
    """Return an .npz with these floating-point numbers as depth."""
    arrays = {"rgb": frame.rgb, "depth": values.astype(np.float32), "K": frame.intrinsics.matrix}
    return {"frame.npz": numpy_file(np.savez, **arrays)}


def marked(frame: Frame, value: int) -> Files:
    """Return a frame in which `value` stands for unknown."""
    units = integer(frame.depth * 1000)
    return plain(frame, np.where((units == 0) | (units >= value), value, units).astype(np.uint16), 0.001)


def in_units(frame: Frame, per_metre: float, scale: float | None = None) -> Files:
    """Return a frame in another unit; noise hides the millimetres in which the reference is stored."""
    noise = np.random.default_rng(0).uniform(-0.0005, 0.0005, frame.depth.shape)
    return plain(frame, integer(np.where(frame.depth > 0, (frame.depth + noise) * per_metre, 0)), scale)


def seen(frame: Frame, function: Callable[[np.ndarray], np.ndarray], unknown: float = 0) -> np.ndarray:
    """Apply a function to known depths."""
    return np.where(frame.depth > 0, function(np.where(frame.depth > 0, frame.depth, 1.0)), unknown)


def rays(k: Intrinsics) -> np.ndarray:
    """Return the length of each pixel's ray with z = 1, of shape (H, W)."""
    u, v = np.meshgrid(np.arange(k.width), np.arange(k.height))
    return np.linalg.norm(k.ray_directions(u, v), axis=-1)


def turned(frame: Frame, turn: Callable[[np.ndarray], np.ndarray]) -> Files:
    """Return a frame whose depth is flipped or turned."""
    return plain(frame, np.ascontiguousarray(turn(integer(frame.depth * 1000))), 0.001)


def by_exif(frame: Frame, orientation: int, stored: Callable[[np.ndarray], np.ndarray]) -> Files:
    """Return a frame whose colour is stored turned, with the EXIF tag that turns it back."""
    tag = Image.Exif()
    tag[274] = orientation
    jpeg = png(np.ascontiguousarray(stored(frame.rgb)), "JPEG", exif=tag, quality=95)
    files = plain(frame, integer(frame.depth * 1000), 0.001)
    del files["rgb.png"]
    return files | {"rgb.jpg": jpeg}


def unregistered(frame: Frame, baseline: float, zoom: float) -> Files:
    """Return depth as a second camera sees it, beside the colour camera and with another focal length."""
    k, pose = frame.intrinsics, np.eye(4)
    pose[0, 3] = baseline
    other = replace(k, fx=k.fx * zoom, fy=k.fy * zoom)
    return plain(frame, integer(reproject(frame.depth, k, other, pose) * 1000), 0.001)


def of_size(frame: Frame, factor: float) -> Files:
    """Return a frame with the intrinsics of pictures of another size."""
    k = frame.intrinsics
    changed = {key: getattr(k, key) * factor for key in ("fx", "fy", "cx", "cy")}
    return plain(frame, integer(frame.depth * 1000), 0.001, replace(k, **changed))


def layout(frame: Frame, colour: str, depth: str, camera_file: str = "") -> Files:
    """Return a frame under other names, each file in the format of its suffix."""
    units = integer(frame.depth * 1000)
    encode = {
        "png": png,
        "jpg": lambda x: png(x, "JPEG", quality=95),
        "ppm": lambda x: png(x, "PPM"),
        "pgm": lambda x: b"P5\n%d %d\n65535\n" % x.shape[::-1] + x.astype(">u2").tobytes(),
        "npy": lambda x: numpy_file(np.save, x),
        "npz": lambda x: numpy_file(np.savez, x),
    }
    files = {name: encode[name.rsplit(".")[-1]](array) for name, array in ((colour, frame.rgb), (depth, units))}
    k = frame.intrinsics
    rows = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in k.matrix)
    return files | ({camera_file: rows.encode()} if camera_file else {})


def organised(frame: Frame) -> Files:
    """Return an organised PCD, unknown points at the origin."""
    h, w = frame.depth.shape
    points = np.nan_to_num(frame.points).reshape(-1, 3)
    packed = (frame.rgb.reshape(-1, 3).astype(np.uint32) @ [1 << 16, 1 << 8, 1]).astype("<u4").view("<f4")
    header = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\n"
        f"WIDTH {w}\nHEIGHT {h}\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {w * h}\nDATA binary\n"
    )
    return {"cloud.pcd": header.encode() + np.column_stack([points, packed]).astype("<f4").tobytes()}


KINDS: dict[str, Callable[[Frame], Files]] = {
    "unbroken": lambda f: plain(f, integer(f.depth * 1000), 0.001),
    "millimetres, unsaid": lambda f: plain(f, integer(f.depth * 1000)),
    "unknown 65535": lambda f: marked(f, 65535),
    "unknown 10000": lambda f: marked(f, 10000),
    "unknown 4095": lambda f: marked(f, 4095),
    "unknown 1": lambda f: plain(f, np.maximum(integer(f.depth * 1000), 1), 0.001),
    "unknown -1": lambda f: archive(f, seen(f, np.asarray, -1)),
    "unknown 1e6": lambda f: archive(f, seen(f, np.asarray, 1e6)),
    "far plane": lambda f: archive(f, seen(f, np.asarray, 100.0)),
    "0.1 mm, unsaid": lambda f: in_units(f, 10_000),
    "0.2 mm, unsaid": lambda f: in_units(f, 5000),
    "0.25 mm, unsaid": lambda f: in_units(f, 4000),
    "0.125 mm, unsaid": lambda f: in_units(f, 8000),
    "0.1 mm, said 1 mm": lambda f: in_units(f, 10_000, 0.001),
    "Kinect raw": lambda f: plain(f, integer(seen(f, lambda z: 2842.5 * (np.arctan(z / 0.1236) - 1.1863), 2047))),
    "bits rotated": lambda f: plain(f, (integer(f.depth * 1000) << 3) | (integer(f.depth * 1000) >> 13)),
    "disparity": lambda f: plain(f, integer(seen(f, lambda z: 16 * 0.06 * f.intrinsics.fx / z))),
    "disparity, floats": lambda f: archive(f, seen(f, lambda z: 0.12 * f.intrinsics.fx / z)),
    "z buffer": lambda f: archive(f, seen(f, lambda z: 100 / 99.9 * (1 - 0.1 / z), 1.0)),
    "along the ray": lambda f: plain(f, integer(f.depth * rays(f.intrinsics) * 1000), 0.001),
    "flipped": lambda f: turned(f, np.flipud),
    "mirrored": lambda f: turned(f, np.fliplr),
    "half turn": lambda f: turned(f, lambda x: x[::-1, ::-1]),
    "quarter turn": lambda f: turned(f, np.rot90),
    "unregistered": lambda f: unregistered(f, 0.05, 0.75),
    "unregistered, wide": lambda f: unregistered(f, 0.015, 0.7),
    "another crop": lambda f: unregistered(f, 0.0, 1.4),
    "EXIF 3": lambda f: by_exif(f, 3, lambda x: x[::-1, ::-1]),
    "EXIF 6": lambda f: by_exif(f, 6, np.rot90),
    "EXIF 8": lambda f: by_exif(f, 8, lambda x: np.rot90(x, -1)),
    "camera of half size": lambda f: of_size(f, 0.5),
    "camera of larger size": lambda f: of_size(f, 1.8),
    "color.jpg, depth.png": lambda f: layout(f, "color.jpg", "depth.png"),
    "PGM": lambda f: layout(f, "color/3.ppm", "depth/3.pgm", "intrinsics.txt"),
    "arrays": lambda f: layout(f, "rgb.npy", "depth.npy", "K.txt"),
    "array of depth": lambda f: layout(f, "rgb_4.png", "depth_4.npz", "cam.txt"),
    "unknown names": lambda f: layout(f, "left.png", "measured.png", "calib.txt"),
    "PCD": organised,
}


def verdict(frame: Frame, files: Files, folder: Path) -> tuple[str, str]:
    """Read the files; return right, said or silent, and the reader's words."""
    for name, raw in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    single = len(files) == 1
    try:
        read = load(folder / next(iter(files)) if single else folder)
    except FrameError as error:
        return "said", str(error)
    words = " ".join(read.notes)
    doubts = [doubt.what for doubt in read.doubts]
    return ("right" if _same(read, frame) else "silent") + ("+doubt" if doubts else ""), f"{doubts} {words}"


def _same(read: Frame, frame: Frame) -> bool:
    if read.depth.shape != frame.depth.shape:  # a cloud is rendered from its own camera
        return bool(abs(np.log(np.median(read.depth[read.depth > 0]) / np.median(frame.depth[frame.depth > 0]))) < 0.05)
    known = (frame.depth > 0) & (frame.depth < 4)
    same = np.abs(read.depth - frame.depth)[known] < 0.02 * frame.depth[known]
    unknown = (read.depth[frame.depth == 0] > 0).mean() if (frame.depth == 0).any() else 0
    guessed = any("field of view was guessed" in note for note in read.notes)
    k, true = read.intrinsics, frame.intrinsics
    return bool(same.mean() > 0.95 and unknown < 0.02 and (guessed or abs(k.fx / true.fx - 1) < 0.02))


def main() -> None:
    """Print each case that is not right, and how many of each kind are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aside", action="store_true", help="the frames kept aside: each kind on two of them")
    parser.add_argument("--each", type=int, default=0, help="frames a kind; 0: two of those aside, else all")
    parser.add_argument("--only", nargs="*", default=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    folders = sorted(p.parent for home in ("frames", "frames_wild") for p in (SHARED / home).glob("*/camera.json"))
    chosen = [
        one for one in folders if (one.parent.name == "frames" or one.name.startswith(FOR_CALIBRATION)) != options.aside
    ]
    frames = {folder.name: load(folder) for folder in chosen}
    count = options.each or (2 if options.aside else len(frames))
    totals: dict[str, int] = {}
    for number, kind in enumerate(options.only):
        names = list(frames)
        picked = names if kind == "unbroken" else [names[(number * 5 + 3 * i) % len(names)] for i in range(count)]
        found: list[str] = []
        for name in dict.fromkeys(picked):
            with tempfile.TemporaryDirectory() as folder:
                result, words = verdict(frames[name], KINDS[kind](frames[name]), Path(folder))
            found.append(result)
            if result != "right":
                print(f"  {kind} / {name}: {result}: {words[:300]}")
        print(f"{kind}: " + ", ".join(f"{found.count(result)} {result}" for result in sorted(set(found))), flush=True)
        for result in found:
            totals[result] = totals.get(result, 0) + 1
    print(totals)


if __name__ == "__main__":
    main()
