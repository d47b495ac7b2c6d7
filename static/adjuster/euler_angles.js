// Converts quaternions (wxyz) to yaw, pitch, roll in degrees (intrinsic z-y-x) and back.
const DEGREES = 180 / Math.PI;

export function angles([w, x, y, z]) {
  const sinPitch = Math.max(-1, Math.min(1, 2 * (w * y - z * x)));
  if (Math.abs(sinPitch) > 0.99999)
    return [2 * Math.atan2(-Math.sign(sinPitch) * x, w) * DEGREES, Math.asin(sinPitch) * DEGREES, 0].map(normalized);
  return [
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    Math.asin(sinPitch),
    Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
  ].map((angle) => normalized(angle * DEGREES));
}

export function quaternion([yaw, pitch, roll]) {
  const halfHeight = (angle) => [Math.cos(angle / DEGREES / 2), Math.sin(angle / DEGREES / 2)];
  const [cz, sz] = halfHeight(yaw),
    [cy, sy] = halfHeight(pitch),
    [cx, sx] = halfHeight(roll);
  return multiply(multiply([cz, 0, 0, sz], [cy, 0, sy, 0]), [cx, sx, 0, 0]);
}

/** @param {number[][]} factors */
function multiply(...[[a, b, c, d], [w, x, y, z]]) {
  return [
    a * w - b * x - c * y - d * z,
    a * x + b * w + c * z - d * y,
    a * y - b * z + c * w + d * x,
    a * z + b * y - c * x + d * w,
  ];
}

// Wraps an angle into (-180, 180] and avoids "-0.0".
function normalized(angle) {
  const wrapped = ((((angle + 180) % 360) + 360) % 360) - 180;
  return Math.abs(wrapped) < 0.05 ? 0 : Math.abs(wrapped + 180) < 0.05 ? 180 : wrapped;
}

// Half the height of a box of this size at this orientation. A resized object is lifted by it so that its bottom stays.
export function halfHeight([w, x, y, z], size) {
  const row = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
  return row.reduce((sum, part, i) => sum + Math.abs(part) * size[i], 0) / 2;
}
