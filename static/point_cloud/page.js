// Draws the points of a frame in world axes over a 10 cm grid of the table. Draws only when something changed.
//
// The hash is the address of the points: float32 little-endian x, y, z in metres, world axes with z up, (N, 3), then
// uint8 red, green, blue, (N, 3).
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { t, translateMarkup } from "../studio/texts.js";

const SHOWN_MS = 60; // after the canvas is back on the screen, the page around it is drawn first
const BYTES_A_POINT = 15;
const GRID_M = 0.1;
const HOVER_M = 0.004; // distance from the pointer's ray within which a point is named
const AXES = [
  [t("x right"), "#c2410c", [1, 0, 0]],
  [t("y away"), "#15803d", [0, 1, 0]],
  [t("z up"), "#1c5aa6", [0, 0, 1]],
];

translateMarkup(document.body);
const canvas = document.querySelector("canvas"),
  message = document.getElementById("message"),
  readout = document.getElementById("readout");
const scene = new THREE.Scene(),
  camera = new THREE.PerspectiveCamera(40, 1, 0.01, 50),
  raycaster = new THREE.Raycaster();
let renderer = null,
  controls = null,
  points = null,
  isDrawRequested = false;

function requestDraw() {
  if (isDrawRequested) return;
  isDrawRequested = true;
  requestAnimationFrame(() => {
    isDrawRequested = false;
    renderer.render(scene, camera);
  });
}

function resize() {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return;
  const known = renderer.getSize(new THREE.Vector2());
  if (known.x === width && known.y === height) {
    setTimeout(requestDraw, SHOWN_MS);
    return;
  }
  renderer.setSize(width, height, false);
  camera.aspect = width / height;
  camera.updateProjectionMatrix();
  requestDraw();
}

/** Returns a sprite with a text, `height` metres high. */
function label(text, colour, height) {
  const drawing = document.createElement("canvas").getContext("2d"),
    font = "600 44px system-ui, sans-serif";
  drawing.font = font;
  drawing.canvas.width = Math.ceil(drawing.measureText(text).width) + 8;
  drawing.canvas.height = 56;
  drawing.font = font;
  drawing.fillStyle = colour;
  drawing.fillText(text, 4, 42);
  const map = new THREE.CanvasTexture(drawing.canvas);
  map.colorSpace = THREE.SRGBColorSpace;
  const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map, depthTest: false }));
  sprite.scale.set((height * drawing.canvas.width) / 56, height, 1);
  return sprite;
}

/** Returns the grid of the plane z = 0 below the points, and the axes at its left front corner. */
function ground(box) {
  const group = new THREE.Group(),
    low = box.min.clone().divideScalar(GRID_M).floor().multiplyScalar(GRID_M),
    high = box.max.clone().divideScalar(GRID_M).ceil().multiplyScalar(GRID_M);
  const lines = [];
  for (let x = low.x; x <= high.x + 1e-6; x += GRID_M) lines.push(x, low.y, 0, x, high.y, 0);
  for (let y = low.y; y <= high.y + 1e-6; y += GRID_M) lines.push(low.x, y, 0, high.x, y, 0);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(lines, 3));
  group.add(new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: "#d5dbe2" })));
  const corner = new THREE.Vector3(low.x, low.y, 0),
    length = 0.18 * Math.max(high.x - low.x, high.y - low.y);
  for (const [text, colour, direction] of AXES) {
    const along = new THREE.Vector3(...direction);
    group.add(new THREE.ArrowHelper(along, corner, length, colour, 0.12 * length, 0.07 * length));
    const name = label(text, colour, 0.14 * length);
    name.position.copy(corner).addScaledVector(along, 1.2 * length);
    group.add(name);
  }
  return group;
}

function dispose() {
  scene.traverse((/** @type {any} */ node) => {
    node.geometry?.dispose();
    node.material?.map?.dispose();
    node.material?.dispose();
  });
  scene.clear();
}

function show(bytes) {
  const count = Math.floor(bytes.byteLength / BYTES_A_POINT),
    isFirst = !points,
    geometry = new THREE.BufferGeometry();
  dispose();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(bytes, 0, 3 * count), 3));
  const colours = Float32Array.from(new Uint8Array(bytes, 12 * count), (value) => value / 255),
    colour = new THREE.Color();
  for (let i = 0; i < count; i++) {
    colour.setRGB(colours[3 * i], colours[3 * i + 1], colours[3 * i + 2], THREE.SRGBColorSpace).toArray(colours, 3 * i);
  }
  geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  geometry.computeBoundingBox();
  geometry.computeBoundingSphere();
  points = new THREE.Points(
    geometry,
    new THREE.PointsMaterial({ size: 2.2, sizeAttenuation: false, vertexColors: true }),
  );
  scene.add(points, ground(geometry.boundingBox));
  if (isFirst) {
    const { center, radius } = geometry.boundingSphere;
    controls.target.copy(center);
    camera.position.copy(center).add(new THREE.Vector3(0.25, -1.35, 0.85).multiplyScalar(1.1 * radius));
    controls.update();
  }
  document.body.dataset.state = "showing";
  document.body.dataset.points = String(count);
  message.textContent = count ? "" : t("No depth is known in this frame.");
  requestDraw();
}

async function load() {
  const address = location.hash.slice(1);
  if (!address.startsWith("project/")) return;
  try {
    const answer = await fetch(`../../${address}`);
    if (!answer.ok) throw new Error(await answer.text());
    const bytes = await answer.arrayBuffer();
    if (address === location.hash.slice(1)) show(bytes);
  } catch (/** @type {any} */ error) {
    message.textContent = t("The point cloud could not be loaded: {message}", { message: error.message });
  }
}

function readPoint({ offsetX, offsetY }) {
  const pointer = new THREE.Vector2((2 * offsetX) / canvas.clientWidth - 1, 1 - (2 * offsetY) / canvas.clientHeight);
  raycaster.setFromCamera(pointer, camera);
  raycaster.params.Points.threshold = HOVER_M;
  const [found] = points ? raycaster.intersectObject(points) : [];
  readout.hidden = !found;
  if (!found) return;
  const [x, y, z] = new THREE.Vector3()
    .fromBufferAttribute(points.geometry.attributes.position, found.index)
    .toArray()
    .map((metres) => metres.toFixed(3));
  readout.textContent = `x ${x}  y ${y}  z ${z} m`;
}

function start() {
  try {
    renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
  } catch {
    message.textContent = t("This browser has no WebGL, so the point cloud cannot be drawn.");
    return;
  }
  camera.up.set(0, 0, 1);
  controls = new OrbitControls(camera, canvas);
  controls.addEventListener("change", requestDraw);
  canvas.addEventListener("pointermove", (event) => event.buttons || readPoint(event));
  canvas.addEventListener("pointerleave", () => (readout.hidden = true));
  new ResizeObserver(resize).observe(canvas);
  addEventListener("hashchange", load);
  load();
}

start();
