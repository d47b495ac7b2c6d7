// Candidate grasps of the selected object as small U-shapes, kept ones green, dropped ones red; hovering says why.
import * as THREE from "three";
import { t } from "../studio/texts.js";
import { signal } from "../studio/view.js";

const KEPT = new THREE.Color("#35c46a"),
  DROPPED = new THREE.Color("#e5543f");
const THICKNESS_M = 0.0016,
  FINGER_M = 0.04, // from the fingertips back to the palm
  STEM_M = 0.03,
  TIP_M = 0.012; // the fingertips are beyond the pinch point
const BARS = 4; // two fingers, palm and stem

export class Grasps {
  on = signal(false);
  hovered = signal(/** @type {any} */ (null)); // {text, left, top}: the reason beside the pointer
  object = "";
  asked = 0;
  twin = null;
  token = "";
  glyphs = null;
  candidates = [];

  /** `notify(text)` shows a notice. */
  constructor(notify, requestDraw) {
    this.notify = notify;
    this.requestDraw = requestDraw;
  }

  /** Shows grasps in the view of that token, whose twin may be the one of the view before. */
  show(twin, token) {
    this.#clear();
    Object.assign(this, { twin, token });
  }

  select(object) {
    if (object === this.object && this.glyphs) return;
    this.object = object;
    this.#load();
  }

  toggle() {
    this.on.value = !this.on.value;
    this.#load();
  }

  /** Shows the reason of the candidate under the pointer. */
  hover(raycaster, event) {
    const [hit] = this.glyphs ? raycaster.intersectObject(this.glyphs, false) : [];
    const reason = hit && this.candidates[Math.floor(hit.instanceId / BARS)].reason,
      text = reason ? `✕ ${reason}` : `✓ ${t("Grasp")}`;
    this.hovered.value = hit ? { text, left: event.offsetX, top: event.offsetY } : null;
  }

  async #load() {
    this.#clear();
    const number = ++this.asked;
    const body = this.twin?.bodyOf(this.object);
    if (!this.on.value || !body) return;
    const address = `${encodeURIComponent(this.token)}/grasps.json?object=${encodeURIComponent(this.object)}`;
    const answer = await fetch(address).catch(() => null);
    if (number !== this.asked) return;
    if (!answer?.ok) return this.notify(answer ? await answer.text() : t("The studio does not answer."));
    this.#draw(await answer.json(), body);
  }

  #clear() {
    this.hovered.value = null;
    this.glyphs?.removeFromParent();
    this.glyphs?.dispose();
    this.glyphs = null;
    delete document.body.dataset.grasps;
    this.requestDraw();
  }

  #draw(candidates, body) {
    this.candidates = candidates;
    const material = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9 });
    const count = candidates.length * BARS;
    this.glyphs = new THREE.InstancedMesh(new THREE.BoxGeometry(1, 1, 1), material, count);
    this.glyphs.userData.outline = true; // neither picked nor outlined with its object
    this.glyphs.userData.group = 2;
    candidates.forEach(({ pose, opening, reason }, number) => {
      const gripper = new THREE.Matrix4().fromArray(pose).transpose(); // by rows
      bars(opening).forEach(([position, size], bar) => {
        const index = number * BARS + bar;
        const matrix = new THREE.Matrix4().setPosition(vector(position)).scale(vector(size));
        this.glyphs.setMatrixAt(index, matrix.premultiply(gripper));
        this.glyphs.setColorAt(index, reason ? DROPPED : KEPT);
      });
    });
    body.add(this.glyphs);
    const kept = candidates.filter(({ reason }) => !reason).length;
    document.body.dataset.grasps = `${kept} ${candidates.length - kept}`;
    if (!candidates.length) this.notify(t("No grasp was found for this object."));
    this.requestDraw();
  }
}

const vector = (numbers) => new THREE.Vector3().fromArray(numbers);

/** Returns centre and size of each bar in the gripper's axes: z is the approach, y the closing direction. */
function bars(opening) {
  const reach = opening ? TIP_M : 0;
  const middle = reach - FINGER_M / 2;
  const palm = reach - FINGER_M;
  const finger = [THICKNESS_M, THICKNESS_M, opening ? FINGER_M : 0.001];
  return [
    [[0, -opening / 2, middle], finger],
    [[0, opening / 2, middle], finger],
    opening
      ? [
          [0, 0, palm],
          [THICKNESS_M, opening + THICKNESS_M, THICKNESS_M],
        ]
      : [
          [0, 0, 0],
          [0.02, 0.02, THICKNESS_M],
        ], // a cup
    [
      [0, 0, palm - (opening ? STEM_M / 2 : -FINGER_M / 2)],
      [THICKNESS_M, THICKNESS_M, opening ? STEM_M : FINGER_M],
    ],
  ];
}
