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
    this.poses = {}; // [x, y, z, w, x, y, z] by body; a body that stands there already has no ghost
    scene.add(this.group);
  }

  /** Draws the ghosts of a twin; returns the names of its bodies that have one. */
  show(twin) {
    this.group.clear();
    return (twin?.moving ?? []).filter((body) => this.#add(twin, body)).map((body) => body.userData.name);
  }

  #add(twin, body) {
    const pose = this.poses[body.userData.name];
    if (!pose) return false;
    const ghost = new THREE.Group();
    ghost.position.fromArray(pose);
    ghost.quaternion.copy(quaternion(pose.slice(3)));
    const isThere =
      body.position.distanceTo(ghost.position) < MOVED_M && body.quaternion.angleTo(ghost.quaternion) < TURNED_RAD;
    if (isThere) return false;
    const color = this.colourOf(body.userData.object);
    const material = new THREE.MeshLambertMaterial({ color, transparent: true, opacity: 0.55, depthWrite: false });
    for (const mesh of twin.visualMeshes(body)) {
      const copy = new THREE.Mesh(mesh.geometry, material);
      copy.applyMatrix4(mesh.matrix);
      ghost.add(copy);
    }
    this.group.add(ghost);
    return true;
  }
}
