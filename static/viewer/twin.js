// The model as a scene graph: bodies follow the pictures; one is selected, one hovered over.
import * as THREE from "three";
import { Outline } from "./outline.js";
import { decodeMeshes, decodeTextures, meshOf, quaternion } from "./shapes.js";

export class Twin {
  static async from(pack) {
    return new Twin(pack.header, decodeMeshes(pack), await decodeTextures(pack));
  }

  constructor(header, meshes, textures) {
    this.root = new THREE.Group();
    this.collisions = [];
    this.bodies = header.bodies.map((body) => this.#body(body));
    this.moving = this.bodies.filter((body) => body.userData.moving >= 0)
      .sort((a, b) => a.userData.moving - b.userData.moving);
    for (const geom of header.geoms) this.#add(geom, meshOf(geom, meshes, textures));
    this.names = [...new Set(header.bodies.map((body) => body.object).filter(Boolean))];
    this.outlines = { selected: new Outline(2.5, 1), hovered: new Outline(2, 2) };
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
    mesh.userData.group = geom.group;
    mesh.userData.plane = geom.shape === "plane";
    if (geom.group >= 3) {
      mesh.visible = false;
      this.collisions.push(mesh);
    }
    this.bodies[geom.body].add(mesh);
  }

  /** Poses as the picture holds them: per moving body x y z, then w x y z. */
  follow(poses) {
    this.moving.forEach((body, i) => {
      const [x, y, z, qw, qx, qy, qz] = poses.subarray(7 * i, 7 * i + 7);
      body.position.set(x, y, z);
      body.quaternion.set(qx, qy, qz, qw);
    });
    this.root.updateMatrixWorld(true);
  }

  /** The body an object is moved by, or undefined where it stands fixed. */
  bodyOf(name) {
    return name ? this.moving.find((body) => body.userData.name === name) : undefined;
  }

  showCollisions(on) {
    for (const mesh of this.collisions) mesh.visible = on;
  }

  /** Draws an outline ("selected" or "hovered") around an object; null takes it away. */
  outline(which, name, colour) {
    this.outlines[which].around(name ? this.#meshes(name) : [], colour);
  }

  resize(width, height) {
    for (const outline of Object.values(this.outlines)) outline.resize(width, height);
  }

  /** What a ray meets first: {object (name or ""), body (index), point (world)} or null. */
  pick(raycaster) {
    this.root.updateMatrixWorld(); // poses may have come since the last picture was drawn
    const drawn = [];
    this.root.traverseVisible((node) => node.isMesh && !node.userData.outline && drawn.push(node));
    const [hit] = raycaster.intersectObjects(drawn, false);
    if (!hit) return null;
    const body = hit.object.parent;
    return { object: body.userData.object, index: body.userData.index, moving: body.userData.moving >= 0, body, point: hit.point };
  }

  /** The object's box as it lies now, in world axes. */
  boxOf(name) {
    const box = new THREE.Box3();
    for (const mesh of this.#meshes(name)) box.expandByObject(mesh);
    return box;
  }

  /** The sphere around all objects, or around everything that is not endless. */
  bounds() {
    const box = new THREE.Box3();
    for (const name of this.names) box.union(this.boxOf(name));
    if (box.isEmpty()) this.root.traverse((node) => node.isMesh && !node.userData.plane && box.expandByObject(node));
    return box.isEmpty() ? new THREE.Sphere(new THREE.Vector3(), 0.5) : box.getBoundingSphere(new THREE.Sphere());
  }

  #meshes(name) {
    const all = this.bodies.filter((body) => body.userData.object === name)
      .flatMap((body) => body.children.filter((node) => node.isMesh && !node.userData.outline));
    const looks = all.filter((mesh) => mesh.userData.group < 3);
    return looks.length ? looks : all;
  }

  dispose() {
    this.root.traverse((node) => {
      node.geometry?.dispose();
      node.material?.map?.dispose();
      node.material?.dispose();
    });
  }
}
