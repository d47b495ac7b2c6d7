"""Write tests/frame/synthetic.bag: a slope measured by a simulated device, recorded with RealSense's library.

Requires `pip install pyrealsense2==2.55.1.6486` (later ones write another format).
"""

import sys
import time

import numpy as np
import pyrealsense2 as rs  # type: ignore[import-not-found]

WIDTH, HEIGHT, FOCAL, FRAMES = 64, 48, 60.0, 12


def intrinsics() -> rs.intrinsics:
    k = rs.intrinsics()
    k.width, k.height, k.fx, k.fy, k.ppx, k.ppy = WIDTH, HEIGHT, FOCAL, FOCAL, 31.5, 23.5
    k.model, k.coeffs = rs.distortion.none, [0] * 5
    return k


def stream(sensor, kind, pixel_format, size: int, uid: int):
    video = rs.video_stream()
    video.type, video.index, video.uid, video.fmt, video.bpp = kind, 0, uid, pixel_format, size
    video.width, video.height, video.fps, video.intrinsics = WIDTH, HEIGHT, 30, intrinsics()
    return sensor.add_video_stream(video, True)


def video_frame(profile, pixels: np.ndarray, size: int, number: int):
    frame = rs.software_video_frame()
    frame.stride, frame.bpp, frame.frame_number, frame.timestamp = WIDTH * size, size, number, number * 33.3
    frame.pixels = pixels.view(np.uint8).reshape(HEIGHT, WIDTH * size)
    frame.domain, frame.profile = rs.timestamp_domain.hardware_clock, profile.as_video_stream_profile()
    return frame


def main(path: str) -> None:
    device = rs.software_device()
    for key, value in ((rs.camera_info.name, "Made up"), (rs.camera_info.serial_number, "0")):
        device.register_info(key, value)
    sensors = device.add_sensor("Depth"), device.add_sensor("Color")
    profiles = (
        stream(sensors[0], rs.stream.depth, rs.format.z16, 2, 0),
        stream(sensors[1], rs.stream.color, rs.format.rgb8, 3, 1),
    )
    sensors[0].add_read_only_option(rs.option.depth_units, 0.001)
    extrinsics = rs.extrinsics()
    extrinsics.rotation, extrinsics.translation = [1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0]
    profiles[0].register_extrinsics_to(profiles[1], extrinsics)
    recorder, queue = rs.recorder(path, device), rs.frame_queue(50)
    recorded = recorder.query_sensors()
    for sensor, profile in zip(recorded, profiles, strict=True):
        sensor.open(profile)
        sensor.start(queue)
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    rgb = np.stack([u, v, np.full_like(u, 200)], -1).astype(np.uint8)
    for number in range(1, FRAMES + 1):
        sensors[0].on_video_frame(video_frame(profiles[0], (700 + 2 * u + number).astype(np.uint16), 2, number))
        sensors[1].on_video_frame(video_frame(profiles[1], rgb, 3, number))
        time.sleep(0.05)
    for sensor in recorded:
        sensor.stop()
        sensor.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/frame/synthetic.bag")
