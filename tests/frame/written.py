"""Write a frame in every format, as the programs that define the formats do."""

import json
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from bench.frame_reading import numpy_file, png
from pipeline.frame import Frame, save


def npy(array: np.ndarray) -> bytes:
    return numpy_file(np.save, array)


def exr(depth: np.ndarray) -> bytes:
    h, w = depth.shape
    input_options = ["-f", "rawvideo", "-pix_fmt", "grayf32le", "-s", f"{w}x{h}", "-i", "-"]
    return ffmpeg(*input_options, "-f", "image2pipe", "-c:v", "exr", "-", stdin=depth.astype("<f4").tobytes())


def ffmpeg(*options: str, stdin: bytes) -> bytes:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *options]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def units(frame: Frame, per_metre: float) -> np.ndarray:
    return np.rint(frame.depth * np.float64(per_metre)).astype(np.uint16)


def write(path: Path, files: dict[str, bytes | str]) -> Path:
    for name, raw in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return path


def zipped(path: Path, files: dict[str, bytes | str], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(prefix + name, raw)
    return path


def camera(frame: Frame, **more: object) -> str:
    k = frame.intrinsics
    return json.dumps({"width": k.width, "height": k.height, "fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy} | more)


def plain(frame: Frame, path: Path) -> Path:
    save(frame, path / "plain")
    return path / "plain"


def plain_zip(frame: Frame, path: Path) -> Path:
    home = plain(frame, path)
    return zipped(path / "f.zip", {f"deep/down/{file.name}": file.read_bytes() for file in home.iterdir()})


def beside_camera(frame: Frame, path: Path, depth: str, raw: bytes) -> Path:
    return write(path, {"rgb.png": png(frame.rgb), depth: raw, "camera.json": camera(frame)})


def npz(frame: Frame, path: Path) -> Path:
    np.savez_compressed(path / "f.npz", rgb=frame.rgb, depth=frame.depth, K=frame.intrinsics.matrix)
    return path / "f.npz"


def npz_integer_depth(frame: Frame, path: Path) -> Path:
    k = frame.intrinsics
    four = np.array([k.fx, k.fy, k.cx, k.cy])
    np.savez(path / "u.npz", color=frame.rgb / 255.0, depth=units(frame, 1000), depth_scale=1000.0, intrinsics=four)
    return path / "u.npz"


def npz_graspnet(frame: Frame, path: Path) -> Path:
    k = frame.intrinsics.matrix
    np.savez(path / "g.npz", image=frame.rgb, depth=frame.depth.astype(float), intrinsics_matrix=k)
    return path / "g.npz"


def tum_files(frame: Frame) -> dict[str, bytes | str]:
    rgb, depth = png(frame.rgb), png(units(frame, 5000))
    return {
        "rgb/1305031102.175304.png": rgb,
        "depth/1305031102.160407.png": depth,
        "depth/1305031102.190000.png": png(np.full_like(units(frame, 1), 9000)),  # the nearer one in time counts
        "rgb.txt": "# color images\n# timestamp filename\n1305031102.175304 rgb/1305031102.175304.png\n",
        "depth.txt": "1305031102.160407 depth/1305031102.190000.png\n1305031102.180000 depth/1305031102.160407.png\n",
        "camera.json": camera(frame),
    }


def open3d_files(frame: Frame) -> dict[str, bytes | str]:
    k = frame.intrinsics
    by_columns = {"width": k.width, "height": k.height, "intrinsic_matrix": k.matrix.T.ravel().tolist()}
    files = {"color/00000.png": png(frame.rgb), "depth/00000.png": png(units(frame, 1000))}
    return files | {"camera_primesense.json": json.dumps(by_columns)}


def flat_pairs(frame: Frame, path: Path) -> Path:
    rows = "\n".join(" ".join(f"{x:.9g}" for x in row) for row in frame.intrinsics.matrix)
    files = {"frame-000007.color.png": png(frame.rgb), "frame-000007.depth.png": png(units(frame, 1000))}
    return write(path / "flat", files | {"camera-intrinsics.txt": rows})


def bop_files(frame: Frame) -> dict[str, bytes | str]:
    entry = {"cam_K": frame.intrinsics.matrix.ravel().tolist(), "depth_scale": 0.1}
    if frame.world_from_camera is not None:
        back = np.linalg.inv(frame.world_from_camera)
        entry |= {"cam_R_w2c": back[:3, :3].ravel().tolist(), "cam_t_w2c": (back[:3, 3] * 1000).tolist()}
    files = {"rgb/000003.png": png(frame.rgb), "depth/000003.png": png(units(frame, 10_000))}
    return files | {"scene_camera.json": json.dumps({"3": entry, "4": entry})}


def r3d_files(frame: Frame) -> dict[str, bytes | str]:
    h, w = frame.depth.shape
    columns = frame.intrinsics.matrix.T.ravel().tolist()
    metadata = {"w": w, "h": h, "dw": w, "dh": h, "K": columns, "fps": 30, "poses": [[0, 0, 0, 1, 0, 0, 0]]}
    depth = np.where(frame.depth > 0, frame.depth, np.nan).astype("<f4").tobytes()
    files = {"metadata": json.dumps(metadata), "rgbd/0.jpg": png(frame.rgb)}
    return files | {"rgbd/0.depth": b"bvx-" + len(depth).to_bytes(4, "little") + depth + b"bvx$"}


def posed_recordings(frame: Frame, poses: list[np.ndarray], path: Path) -> dict[str, Path]:
    """Write a recording of one picture from several poses (camera in the world) in each format that holds poses."""
    rgb, depth, count = png(frame.rgb), png(units(frame, 1000)), range(len(poses))
    phone = [pose @ np.diag([1, -1, -1, 1]) for pose in poses]
    quats = [Rotation.from_matrix(pose[:3, :3]).as_quat().tolist() for pose in (*poses, *phone)]
    metadata = json.loads(str(r3d_files(frame)["metadata"]))
    metadata["poses"] = [quats[len(poses) + i] + phone[i][:3, 3].tolist() for i in count]
    raw = r3d_files(frame)["rgbd/0.depth"]
    r3d = {f"rgbd/{i}.{kind}": one for i in count for kind, one in (("jpg", rgb), ("depth", raw))}
    truth = [f"{i + d} {' '.join(map(str, [*poses[i][:3, 3], *quats[i]]))}" for i in count for d in (-0.01, 0.03)]
    tum = {f"{folder}.txt": "".join(f"{i}.0 {folder}/{i}.png\n" for i in count) for folder in ("rgb", "depth")}
    entries = {
        i: json.loads(str(bop_files(replace(frame, world_from_camera=poses[i]))["scene_camera.json"])) for i in count
    }
    pairs = {f"{folder}/{i}.png": one for i in count for folder, one in (("rgb", rgb), ("depth", depth))}
    extrinsics = [{"extrinsic": np.linalg.inv(pose).T.ravel().tolist()} for pose in poses]
    log = "".join(f"{i} {i} {i}\n" + "".join(" ".join(map(str, row)) + "\n" for row in poses[i]) for i in count)
    return {
        "tum": write(path / "t", pairs | tum | {"groundtruth.txt": "# truth\n" + "\n".join(truth)}),
        "bop": write(path / "b", pairs | {"scene_camera.json": json.dumps({i: entries[i]["3"] for i in count})}),
        "r3d": zipped(path / "p.r3d", r3d | {"metadata": json.dumps(metadata)}),
        "log": write(path / "l", pairs | {"trajectory.log": log}),
        "json": write(path / "j", pairs | {"trajectory.json": json.dumps({"parameters": extrinsics})}),
    }


def mcap(frame: Frame, path: Path) -> Path:
    """Write a log of ROS 2 with rows that are padded, blue before red, and depth that comes a little later."""
    types, k, name = get_typestore(Stores.LATEST), frame.intrinsics, "sensor_msgs/msg/"
    none = types.types[f"{name}RegionOfInterest"](0, 0, 0, 0, False)
    bgr = np.pad(frame.rgb[..., ::-1].reshape(k.height, -1), ((0, 0), (0, 5)))
    images = {"color/image_raw": ("bgr8", bgr), "aligned_depth_to_color/image_raw": ("16UC1", units(frame, 1000))}
    with Writer(path / "log", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = {one: writer.add_connection(f"/camera/{one}", f"{name}Image", typestore=types) for one in images}
        about = writer.add_connection("/camera/color/camera_info", f"{name}CameraInfo", typestore=types)
        for i in range(2):
            header = types.types["std_msgs/msg/Header"](types.types["builtin_interfaces/msg/Time"](5, i * 10**8), "c")
            values = np.zeros(0), k.matrix.ravel(), np.eye(3).ravel(), np.zeros(12)
            info = types.types[f"{name}CameraInfo"](header, k.height, k.width, "plumb_bob", *values, 0, 0, none)
            writer.write(about, 5 * 10**9 + i * 10**8, types.serialize_cdr(info, info.__msgtype__))
            for late, (topic, (encoding, rows)) in enumerate(images.items()):
                raw = np.frombuffer(rows.tobytes(), np.uint8)
                image = types.types[f"{name}Image"](header, k.height, k.width, encoding, 0, len(raw) // k.height, raw)
                writer.write(topics[topic], 5 * 10**9 + i * 10**8 + late, types.serialize_cdr(image, image.__msgtype__))
    return path / "log" / "log.mcap"


def write_video(path: Path, frames: list[np.ndarray], pixel_format: str, stored_format: str) -> Path:
    h, w = frames[0].shape[:2]
    input_options = ["-f", "rawvideo", "-pix_fmt", pixel_format, "-s", f"{w}x{h}", "-r", "10", "-i", "-"]
    raw = b"".join(frame.tobytes() for frame in frames)
    ffmpeg(*input_options, "-c:v", "ffv1", "-pix_fmt", stored_format, str(path), stdin=raw)
    return path


def video(frame: Frame, path: Path) -> Path:
    home = write(path / "film", {"camera.json": camera(frame, depth_scale=0.001)})
    write_video(home / "rgb.mkv", [frame.rgb] * 2, "rgb24", "gbrp")
    write_video(home / "depth.mkv", [units(frame, 1000)] * 2, "gray16le", "gray16le")
    return home


def video_and_images(frame: Frame, path: Path) -> Path:
    files = {"camera.json": camera(frame), "depth/0.png": png(units(frame, 1000))}
    return write_video(write(path / "both", files) / "kitchen.mkv", [frame.rgb] * 2, "rgb24", "gbrp")


def two_frames(frame: Frame, path: Path) -> Path:
    save(frame, path / "several" / "a")
    save(frame, path / "several" / "b")
    return path / "several"


FORMATS: dict[str, Callable[[Frame, Path], Path]] = {
    **{one.__name__: one for one in (plain, plain_zip, npz, npz_integer_depth, npz_graspnet, flat_pairs, video)},
    **{one.__name__: one for one in (video_and_images, two_frames)},
    "mcap": mcap,
    "float_tiff": lambda frame, path: beside_camera(frame, path, "depth.tiff", png(frame.depth, "TIFF")),
    "integer_tiff": lambda frame, path: beside_camera(frame, path, "depth.tif", png(units(frame, 1000), "TIFF")),
    "float_exr": lambda frame, path: beside_camera(frame, path, "depth.exr", exr(frame.depth)),
    "tum": lambda frame, path: write(path / "tum", tum_files(frame)),
    "open3d": lambda frame, path: write(path / "o3d", open3d_files(frame)),
    "bop": lambda frame, path: write(path / "000001", bop_files(frame)),
    "r3d": lambda frame, path: zipped(path / "f.r3d", r3d_files(frame)),
    "float_npy": lambda frame, path: beside_camera(
        frame, path, "depth.npy", npy(np.where(frame.depth, frame.depth, np.nan))
    ),
}
