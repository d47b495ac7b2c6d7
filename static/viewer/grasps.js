// Candidate grasps of the selected object as small U-shapes, kept ones green, dropped ones red; hovering says why.
import * as THREE from "three";
import { t } from "../studio/texts.js";

const KEPT = new THREE.Color("#35c46a"),
  DROPPED = new THREE.Color("#e5543f");
const THICKNESS_M = 0.0016,
  FINGER_M = 0.04, // from the fingertips back to the palm
  STEM_M = 0.03,
  TIP_M = 0.012; // the fingertips are beyond the pinch point
const BARS = 4; // two fingers, palm and stem

export class Grasps {
  /** `panel` shows the reason beside the pointer, `notify(text)` shows a notice. */
  constructor(panel, notify) {
    Object.assign(this, { panel, notify, on: false, object: "", asked: 0 });
  }

  /** Shows grasps in the view of that token, whose twin may be the one of the view before. */
  show(twin, token, requestDraw) {
    this.#clear();
    Object.assign(this, { twin, token, requestDraw });
  }

  select(object) {
    if (object === this.object && this.glyphs) return;
    this.object = object;
    this.#load();
  }

  /** Returns whether grasps are shown now. */
  toggle() {
    this.on = !this.on;
    this.#load();
    return this.on;
  }

  /** Shows the reason of the candidate under the pointer. */
  hover(raycaster, event) {
    const [hit] = this.glyphs ? raycaster.intersectObject(this.glyphs, false) : [];
    this.panel.hidden = !hit;
    if (!hit) return;
    const { reason } = this.candidates[Math.floor(hit.instanceId / BARS)];
    this.panel.textContent = reason ? `✕ ${reason}` : `✓ ${t("Grasp")}`;
    Object.assign(this.panel.style, { left: `${event.offsetX}px`, top: `${event.offsetY}px` });
  }

  async #load() {
    this.#clear();
    const number = ++this.asked;
    const body = this.twin?.bodyOf(this.object);
    if (!this.on || !body) return;
    const address = `${encodeURIComponent(this.token)}/grasps.json?object=${encodeURIComponent(this.object)}`;
    const answer = await fetch(address).catch(() => null);
    if (number !== this.asked) return;
    if (!answer?.ok) return this.notify(answer ? await answer.text() : t("The studio does not answer."));
    this.#draw(await answer.json(), body);
  }

  #clear() {
    this.panel.hidden = true;
    this.glyphs?.removeFromParent();
    this.glyphs?.dispose();
    this.glyphs = null;
    delete document.body.dataset.grasps;
    this.requestDraw?.();
  }

  #draw(candidates, body) {
    this.candidates = candidates;
    const material = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9 });
    const count = candidates.length * BARS;
    this.glyphs = new THREE.InstancedMesh(new THREE.BoxGeometry(1, 1, 1), material, count);
    this.glyphs.userData.outline = true; // neither picked nor outlined with its object
    this.glyphs.userData.group = 2;
    candidates.forEach(({ pose, opening, reason }, number) => {
      const gripper = new THREE.Matrix4().set(...pose);
      bars(opening).forEach(([position, size], bar) => {
        const index = number * BARS + bar;
        const matrix = new THREE.Matrix4().makeTranslation(...position).scale(new THREE.Vector3(...size));
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
