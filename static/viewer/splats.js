// Gaussian splats of the background and of objects, in place of their meshes, which stay for clicks and collisions.
// A splat is drawn as its Gaussian's projection (Zwicker et al. 2001, EWA splatting; Kerbl et al. 2023), farthest first.
// Where a processor draws, the most visible ones are opaque points: 300,000 Gaussians take it 5 s a picture.
import * as THREE from "three";
import { signal } from "../studio/view.js";

const BYTES = 32; // of a splat: position and scale as float32, sRGB with opacity and quaternion wxyz as bytes
const ROW = 1024; // texels in a row of the textures
const SOFTWARE_POINTS = 50_000; // 0.2 s of processor a picture at 1280 x 800 (docs/results/twin.md)
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;
const OPAQUE = 77; // of 255: fainter splats are haze, which an opaque point would make a wall
const DEPTHS = 65536; // buckets of the sort

const POINT_VERTEX = `
attribute vec4 rgba; attribute float radius; uniform float focal; varying vec3 colour;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.);
  gl_Position = projectionMatrix * view;
  gl_PointSize = max(1., 2. * radius * focal / -view.z);
  colour = rgba.rgb;
}`;
const POINT_FRAGMENT = `varying vec3 colour; void main() { gl_FragColor = vec4(colour, 1.); }`;
const QUAD_VERTEX = `
uniform highp sampler2D place; uniform highp usampler2D shape; uniform vec2 viewport; uniform vec2 focal;
attribute uint order; varying vec4 colour; varying vec2 at;
void main() {
  gl_Position = vec4(0., 0., 2., 1.);
  ivec2 texel = ivec2(int(order) % ${ROW}, int(order) / ${ROW});
  vec4 view = modelViewMatrix * vec4(texelFetch(place, texel, 0).xyz, 1.), clip = projectionMatrix * view;
  if (view.z > -.05 || any(greaterThan(abs(clip.xy), vec2(1.3 * clip.w)))) return;
  uvec4 packed = texelFetch(shape, texel, 0);
  vec2 a = unpackHalf2x16(packed.x), b = unpackHalf2x16(packed.y), c = unpackHalf2x16(packed.z);
  mat3 covariance = mat3(a.x, a.y, b.x, a.y, b.y, c.x, b.x, c.x, c.y);
  mat3 jacobian = mat3(focal.x / view.z, 0., 0., 0., focal.y / view.z, 0., -focal.xy * view.xy / (view.z * view.z), 0.);
  mat3 onto = jacobian * mat3(modelViewMatrix), flat2 = onto * covariance * transpose(onto);
  float xx = flat2[0][0] + .3, xy = flat2[0][1], yy = flat2[1][1] + .3; // .3: at least a pixel, as in training
  float middle = .5 * (xx + yy), half_ = length(vec2(.5 * (xx - yy), xy));
  vec2 axis = abs(xy) < 1e-6 ? (xx >= yy ? vec2(1., 0.) : vec2(0., 1.)) : normalize(vec2(xy, middle + half_ - xx));
  colour = vec4(packed.w & 255u, packed.w >> 8 & 255u, packed.w >> 16 & 255u, packed.w >> 24) / 255.;
  at = position.xy * min(sqrt(2. * log(max(255. * colour.a, 1.001))), 3.); // where it is below 1/255, or 3 sigma
  vec2 offset = at.x * min(sqrt(middle + half_), 512.) * axis
    + at.y * min(sqrt(max(middle - half_, .1)), 512.) * vec2(axis.y, -axis.x);
  gl_Position = vec4(clip.xyz / clip.w + vec3(2. * offset / viewport, 0.), 1.);
}`;
const QUAD_FRAGMENT = `
varying vec4 colour; varying vec2 at;
void main() { gl_FragColor = vec4(colour.rgb, colour.a * exp(-.5 * dot(at, at))); }`;

export class Splats {
  note = signal(""); // how many are drawn, as "50,000 of 300,000"
  clouds = [];
  shown = 0; // the number of the request that was made last

  /** `onReady` is called when splats have been loaded. */
  constructor(renderer, onReady) {
    this.renderer = renderer;
    this.onReady = onReady;
    renderer.beforeDraw.push(() => this.#sort());
  }

  get isSoftware() {
    const gl = this.renderer.renderer.getContext(),
      info = gl.getExtension("WEBGL_debug_renderer_info");
    return SOFTWARE.test(gl.getParameter(info?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER));
  }

  /** Loads the splats of a view into its twin. */
  async load(twin, token, rows) {
    const request = ++this.shown;
    this.clouds = [];
    this.note.value = "";
    for (const [number, { body }] of rows.entries()) {
      const answer = await fetch(`${encodeURIComponent(token)}/splats/${number}`).catch(() => null);
      if (request !== this.shown) return;
      if (!answer?.ok) continue; // their file was removed; the mesh stays
      const buffer = await answer.arrayBuffer();
      if (request !== this.shown) return;
      this.#add(twin, body, buffer, Math.floor(SOFTWARE_POINTS / rows.length));
    }
    this.#tell();
    this.onReady();
  }

  #add(twin, body, buffer, budget) {
    const cloud = this.isSoftware ? pointsOf(buffer, budget) : quadsOf(buffer);
    if (!cloud) return;
    cloud.userData = { ...cloud.userData, isSplats: true, isBackground: body === 0 };
    cloud.frustumCulled = false;
    cloud.onBeforeRender = (renderer, _scene, camera) => setLens(cloud.material, renderer, camera);
    twin.addSplats(cloud, body);
    this.clouds.push(cloud);
  }

  #tell() {
    const [drawn, all] = ["drawn", "all"].map((key) => this.clouds.reduce((sum, one) => sum + one.userData[key], 0));
    this.note.value = all > drawn ? `${drawn.toLocaleString()} / ${all.toLocaleString()}` : "";
  }

  #sort() {
    const { camera } = this.renderer;
    for (const cloud of this.clouds) if (cloud.visible) cloud.userData.sort?.(camera, cloud);
  }
}

function setLens({ uniforms }, renderer, camera) {
  const { z: width, w: height } = renderer.getCurrentViewport(new THREE.Vector4()),
    projection = camera.projectionMatrix.elements,
    focal = [(projection[0] * width) / 2, (projection[5] * height) / 2];
  uniforms.viewport?.value.set(width, height);
  if (uniforms.viewport) uniforms.focal.value.set(...focal);
  else uniforms.focal.value = focal[1];
}

/** Returns opaque points of up to `budget` splats, the most visible ones; null without any. */
function pointsOf(buffer, budget) {
  const numbers = new Float32Array(buffer),
    bytes = new Uint8Array(buffer),
    all = buffer.byteLength / BYTES,
    drawn = [];
  for (let i = 0; i < all && drawn.length < budget; i++) if (bytes[BYTES * i + 27] >= OPAQUE) drawn.push(i);
  if (!drawn.length) return null;
  const position = new Float32Array(3 * drawn.length),
    rgba = new Uint8Array(4 * drawn.length),
    radius = new Float32Array(drawn.length);
  drawn.forEach((from, to) => {
    position.set(numbers.subarray(8 * from, 8 * from + 3), 3 * to);
    rgba.set(bytes.subarray(BYTES * from + 24, BYTES * from + 28), 4 * to);
    const [, middle, longest] = numbers.slice(8 * from + 3, 8 * from + 6).sort();
    radius[to] = Math.sqrt(middle * longest);
  });
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
  geometry.setAttribute("rgba", new THREE.BufferAttribute(rgba, 4, true));
  geometry.setAttribute("radius", new THREE.BufferAttribute(radius, 1));
  const uniforms = { focal: { value: 1 } },
    material = new THREE.ShaderMaterial({ vertexShader: POINT_VERTEX, fragmentShader: POINT_FRAGMENT, uniforms });
  const points = new THREE.Points(geometry, material);
  points.userData = { drawn: drawn.length, all };
  return points;
}

/** Returns all splats as quads, which are sorted before each picture. */
function quadsOf(buffer) {
  const count = buffer.byteLength / BYTES,
    rows = Math.max(1, Math.ceil(count / ROW)),
    place = new Float32Array(4 * ROW * rows),
    shape = new Uint32Array(4 * ROW * rows);
  fill(buffer, place, shape);
  const texture = (data, format, type, internal) => {
    const made = new THREE.DataTexture(data, ROW, rows, format, type);
    Object.assign(made, { internalFormat: internal, needsUpdate: true });
    return { value: made };
  };
  const order = new THREE.InstancedBufferAttribute(new Uint32Array(count), 1);
  order.gpuType = THREE.IntType;
  const geometry = new THREE.InstancedBufferGeometry();
  const corners = new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]);
  geometry.setAttribute("position", new THREE.BufferAttribute(corners, 3));
  geometry.setAttribute("order", order);
  geometry.setIndex([0, 1, 2, 0, 2, 3]);
  geometry.instanceCount = count;
  const uniforms = {
    place: texture(place, THREE.RGBAFormat, THREE.FloatType, "RGBA32F"),
    shape: texture(shape, THREE.RGBAIntegerFormat, THREE.UnsignedIntType, "RGBA32UI"),
    viewport: { value: new THREE.Vector2() },
    focal: { value: new THREE.Vector2() },
  };
  const material = new THREE.ShaderMaterial({
    vertexShader: QUAD_VERTEX,
    fragmentShader: QUAD_FRAGMENT,
    uniforms,
    transparent: true,
    depthWrite: false,
    side: THREE.DoubleSide,
  });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.userData = { drawn: count, all: count, sort: sorterOf(place, order, count) };
  return mesh;
}

/** Fills the textures: positions, and upper halves of covariance matrices as half floats with the colour. */
function fill(buffer, place, shape) {
  const numbers = new Float32Array(buffer),
    bytes = new Uint8Array(buffer),
    colours = new Uint32Array(buffer),
    turn = new THREE.Matrix4(),
    half = THREE.DataUtils.toHalfFloat;
  for (let i = 0; i < numbers.length / 8; i++) {
    place.set(numbers.subarray(8 * i, 8 * i + 3), 4 * i);
    const [w, x, y, z] = [28, 29, 30, 31].map((at) => bytes[BYTES * i + at] - 128),
      { elements } = turn.makeRotationFromQuaternion(new THREE.Quaternion(x, y, z, w).normalize()),
      variances = [3, 4, 5].map((at) => numbers[8 * i + at] ** 2),
      entry = (row, column) =>
        variances.reduce((sum, variance, k) => sum + elements[4 * k + row] * variance * elements[4 * k + column], 0),
      pair = (one, other) => half(Math.min(one, 65504)) | (half(Math.min(other, 65504)) << 16);
    const upper = [pair(entry(0, 0), entry(0, 1)), pair(entry(0, 2), entry(1, 1)), pair(entry(1, 2), entry(2, 2))];
    shape.set([...upper, colours[8 * i + 6]], 4 * i);
  }
}

/** Returns a function that orders the splats from the farthest to the nearest, by a counting sort of their depths. */
function sorterOf(place, order, count) {
  const depths = new Float32Array(count),
    keys = new Uint16Array(count),
    starts = new Uint32Array(DEPTHS + 1),
    view = new THREE.Matrix4();
  let sorted = "";
  return (camera, { matrixWorld }) => {
    const [a, b, c, d] = [2, 6, 10, 14].map(
      (at) => view.multiplyMatrices(camera.matrixWorldInverse, matrixWorld).elements[at],
    );
    if (sorted === `${a} ${b} ${c} ${d}`) return;
    sorted = `${a} ${b} ${c} ${d}`;
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < count; i++) {
      const depth = a * place[4 * i] + b * place[4 * i + 1] + c * place[4 * i + 2] + d;
      depths[i] = depth;
      if (depth < low) low = depth;
      if (depth > high) high = depth;
    }
    const step = (DEPTHS - 1) / (high - low || 1);
    starts.fill(0);
    for (let i = 0; i < count; i++) {
      keys[i] = (depths[i] - low) * step;
      starts[keys[i] + 1]++;
    }
    for (let i = 0; i < DEPTHS; i++) starts[i + 1] += starts[i];
    for (let i = 0; i < count; i++) order.array[starts[keys[i]]++] = i;
    order.needsUpdate = true;
  };
}
