// The model as a scene graph. Bodies follow the server's poses; one object can be selected and one hovered.
import * as THREE from "three";
import { SelectionOutline } from "./selection_outline.js";
import { decodeMeshes, decodeTextures, meshOf, quaternion } from "./geoms.js";

export class Twin {
  static async from(pack) {
    return new Twin(pack.header, decodeMeshes(pack), await decodeTextures(pack));
  }

  constructor(header, meshes, textures) {
    this.root = new THREE.Group();
    this.collisions = [];
    this.backgrounds = [];
    this.splats = [];
    this.floors = [];
    this.bodies = header.bodies.map((body) => this.#body(body));
    this.moving = this.bodies
      .filter((body) => body.userData.moving >= 0)
      .sort((a, b) => a.userData.moving - b.userData.moving);
    for (const geom of header.geoms) this.#add(geom, meshOf(geom, meshes, textures));
    this.names = [...new Set(header.bodies.map((body) => body.object).filter(Boolean))];
    this.outlines = { selected: new SelectionOutline(2.5, 1), hovered: new SelectionOutline(2, 2) };
    this.root.updateMatrixWorld(true);
  }

  #body({ name, object, moving, pos, quat_wxyz }) {
    const group = new THREE.Group();
    group.userData = { name, object, moving, index: this.root.children.length };
    group.position.fromArray(pos);
    group.quaternion.copy(quaternion(quat_wxyz));
    this.root.add(group);
    return group;
  }

  #add(geom, mesh) {
    if (!mesh) return;
    if (geom.background) this.backgrounds.push(mesh);
    if (geom.shape === "plane") this.floors.push(mesh);
    if (geom.group >= 3) {
      mesh.visible = false;
      this.collisions.push(mesh);
    }
    this.bodies[geom.body].add(mesh);
  }

  /** Sets the poses of a frame: per moving body x y z, then w x y z. */
  setPoses(poses) {
    this.moving.forEach((body, i) => {
      const [x, y, z, qw, qx, qy, qz] = poses.subarray(7 * i, 7 * i + 7);
      body.position.set(x, y, z);
      body.quaternion.set(qx, qy, qz, qw);
    });
    this.root.updateMatrixWorld(true);
  }

  /** Returns an object's free body; undefined if it is fixed. */
  bodyOf(name) {
    return name ? this.moving.find((body) => body.userData.name === name) : undefined;
  }

  showCollisions(on) {
    for (const mesh of this.collisions) mesh.visible = on;
  }

  /** Adds splats to a body, by its number; they draw what its meshes did, or the background of body 0. */
  addSplats(cloud, number) {
    this.bodies[number].add(cloud);
    this.splats.push(cloud);
    cloud.updateMatrixWorld(true);
  }

  /** Shows splats in place of meshes, which stay where clicks and outlines find them. */
  showSplats(on) {
    for (const cloud of this.splats) {
      cloud.visible = on;
      if (cloud.userData.isBackground) continue;
      const name = cloud.parent.userData.object,
        bodies = this.bodies.filter((body) => body.userData.object === name);
      for (const mesh of this.visualMeshes(...bodies)) mesh.material.colorWrite = mesh.material.depthWrite = !on;
    }
  }

  /** Shows what the photograph shows around the table, or a plain floor. Splats of the background take its place. */
  showBackground(on) {
    const splats = this.splats.filter((cloud) => cloud.userData.isBackground);
    for (const cloud of splats) cloud.visible &&= on;
    const isReplaced = splats.some((cloud) => cloud.visible);
    for (const mesh of this.backgrounds) mesh.visible = on && !isReplaced;
    if (this.backgrounds.length || splats.length) for (const mesh of this.floors) mesh.visible = !on;
  }

  /** Draws the "selected" or "hovered" outline around an object; an empty name removes it. */
  outline(which, name, colour) {
    this.outlines[which].setMeshes(name ? this.#meshes(name) : [], colour);
  }

  resize(width, height) {
    for (const outline of Object.values(this.outlines)) outline.resize(width, height);
  }

  /** Returns what a ray hits first: {object (name or ""), index, moving, body, point (world)} or null. */
  pick(raycaster) {
    this.root.updateMatrixWorld(); // poses may have changed since the last frame was drawn
    const meshes = [];
    this.root.traverseVisible(
      (node) => isMesh(node) && !node.userData.outline && !node.userData.isBackground && meshes.push(node),
    );
    const [hit] = raycaster.intersectObjects(meshes, false);
    if (!hit) return null;
    const body = hit.object.parent;
    return {
      object: body.userData.object,
      index: body.userData.index,
      moving: body.userData.moving >= 0,
      body,
      point: hit.point,
    };
  }

  /** Returns the object's current bounding box in world axes. */
  boxOf(name) {
    const box = new THREE.Box3();
    for (const mesh of this.#meshes(name)) box.expandByObject(mesh);
    return box;
  }

  /** Returns the corners of the boxes of all objects, or of everything but planes if there are none. */
  corners() {
    const boxes = this.names.map((name) => this.boxOf(name)).filter((box) => !box.isEmpty());
    if (!boxes.length) {
      const all = new THREE.Box3();
      this.root.traverse(
        (node) => isMesh(node) && !node.userData.isPlane && !node.userData.isBackground && all.expandByObject(node),
      );
      boxes.push(all.isEmpty() ? new THREE.Box3().setFromArray([-0.3, -0.3, 0, 0.3, 0.3, 0.3]) : all);
    }
    return boxes.flatMap(cornersOf);
  }

  /** Returns the bounding sphere of all objects, or of everything but planes if there are none. */
  bounds() {
    return new THREE.Box3().setFromPoints(this.corners()).getBoundingSphere(new THREE.Sphere());
  }

  #meshes(name) {
    return this.visualMeshes(...this.bodies.filter((body) => body.userData.object === name));
  }

  /** Returns the meshes of bodies, without those for collisions where there are others. */
  visualMeshes(...bodies) {
    const all = bodies.flatMap((body) => body.children.filter((node) => isMesh(node) && !node.userData.outline));
    const visual = all.filter((mesh) => mesh.userData.group < 3);
    return visual.length ? visual : all;
  }

  dispose() {
    this.root.traverse((/** @type {any} */ node) => {
      node.geometry?.dispose();
      node.material?.map?.dispose();
      for (const { value } of Object.values(node.material?.uniforms ?? {})) value.dispose?.();
      node.material?.dispose();
    });
  }
}

const isMesh = (node) => node instanceof THREE.Mesh && !node.userData.isSplats;

/** Returns the eight corners of a box. */
export function cornersOf({ min, max }) {
  return [0, 1, 2, 3, 4, 5, 6, 7].map(
    (i) => new THREE.Vector3(i & 1 ? max.x : min.x, i & 2 ? max.y : min.y, i & 4 ? max.z : min.z),
  );
}
