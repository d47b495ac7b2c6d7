// From where a perspective camera sees points as large as they fit.
import * as THREE from "three";

const MIN_DISTANCE_M = 0.25; // from the nearest point

/**
 * Returns {center, distance} of the nearest view that shows all points: it looks along -direction at the centre.
 * `wide` and `high` are the shares of half the image's height at this field of view (degrees) that the points may take.
 */
export function nearestView(points, direction, fieldOfView, { wide, high }) {
  const slope = Math.tan(THREE.MathUtils.degToRad(fieldOfView / 2));
  const right = new THREE.Vector3(0, 0, 1).cross(direction).normalize(),
    up = direction.clone().cross(right);
  const seen = points.map((point) => [point.dot(right), point.dot(up), point.dot(direction)]);
  // A point at (a, t) along an axis and towards the camera is in view from (c, d) if |a - c| <= (d - t) * slope.
  const along = (axis, share) => {
    const highest = Math.max(...seen.map((point) => point[axis] + point[2] * share)),
      lowest = Math.min(...seen.map((point) => point[axis] - point[2] * share));
    return { middle: (highest + lowest) / 2, depth: (highest - lowest) / 2 / share };
  };
  const across = along(0, slope * wide),
    upright = along(1, slope * high),
    depths = seen.map((point) => point[2]);
  const middle = (Math.min(...depths) + Math.max(...depths)) / 2;
  return {
    center: right.multiplyScalar(across.middle).addScaledVector(up, upright.middle).addScaledVector(direction, middle),
    distance: Math.max(across.depth, upright.depth, Math.max(...depths) + MIN_DISTANCE_M) - middle,
  };
}
