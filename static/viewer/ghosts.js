// Where objects are to be: translucent copies of them at other poses than their own.
import * as THREE from "three";
import { quaternion } from "./geoms.js";

const MOVED_M = 0.01;
const TURNED_RAD = 0.1;

export class Ghosts {
  /** `colourOf(name)` gives an object's colour. */
  constructor(scene, colourOf) {
    this.colourOf = colourOf;
    this.group = new THREE.Group();
    this.poses = {};
    scene.add(this.group);
  }

  /** Sets the poses, [x, y, z, w, x, y, z] by body; a body that stands there already has no ghost. */
  set(poses) {
    this.poses = poses;
    this.show(this.twin);
  }

  /** Draws the ghosts of a twin. */
  show(twin) {
    this.twin = twin;
    this.group.clear();
    for (const body of twin?.moving ?? []) {
      const pose = this.poses[body.userData.name];
      if (pose) this.#add(twin, body, new THREE.Vector3().fromArray(pose), quaternion(pose.slice(3)));
    }
  }

  #add(twin, body, position, turn) {
    if (body.position.distanceTo(position) < MOVED_M && body.quaternion.angleTo(turn) < TURNED_RAD) return;
    const ghost = new THREE.Group();
    ghost.position.copy(position);
    ghost.quaternion.copy(turn);
    const color = this.colourOf(body.userData.object);
    const material = new THREE.MeshLambertMaterial({ color, transparent: true, opacity: 0.55, depthWrite: false });
    for (const mesh of twin.visualMeshes(body)) {
      const copy = new THREE.Mesh(mesh.geometry, material);
      copy.applyMatrix4(mesh.matrix);
      ghost.add(copy);
    }
    this.group.add(ghost);
  }
}
