// Quaternions wxyz as a person says them: yaw about z, then pitch about y, then roll about x, in degrees.
const DEGREES = 180 / Math.PI;

export function angles([w, x, y, z]) {
  const up = Math.max(-1, Math.min(1, 2 * (w * y - z * x)));
  if (Math.abs(up) > 0.99999) return [2 * Math.atan2(-Math.sign(up) * x, w) * DEGREES, Math.asin(up) * DEGREES, 0].map(tidy);
  return [
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)), Math.asin(up), Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
  ].map((angle) => tidy(angle * DEGREES));
}

export function quaternion([yaw, pitch, roll]) {
  const half = (angle) => [Math.cos(angle / DEGREES / 2), Math.sin(angle / DEGREES / 2)];
  const [cz, sz] = half(yaw), [cy, sy] = half(pitch), [cx, sx] = half(roll);
  return times(times([cz, 0, 0, sz], [cy, 0, sy, 0]), [cx, sx, 0, 0]);
}

function times([a, b, c, d], [w, x, y, z]) {
  return [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
}

// Turned into (-180, 180], and no "-0.0".
function tidy(angle) {
  const turned = ((((angle + 180) % 360) + 360) % 360) - 180;
  return Math.abs(turned) < 0.05 ? 0 : Math.abs(turned + 180) < 0.05 ? 180 : turned;
}

// The height of half a box of that size, turned so: what lifts it when it grows and its foot stays.
export function half([w, x, y, z], size) {
  const row = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
  return row.reduce((sum, part, i) => sum + Math.abs(part) * size[i], 0) / 2;
}
