// Contacts as dots and forces as short lines. Drawn over everything, since contacts lie between bodies.
import * as THREE from "three";

const MAX_CONTACTS = 100;

export class Contacts {
  constructor(scene) {
    const material = { color: "#ffb000", depthTest: false, transparent: true };
    this.dots = new THREE.InstancedMesh(
      new THREE.OctahedronGeometry(0.003),
      new THREE.MeshBasicMaterial(material),
      MAX_CONTACTS,
    );
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial(material));
    this.lines.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(MAX_CONTACTS * 6), 3));
    for (const object of [this.dots, this.lines]) {
      object.frustumCulled = false;
      object.renderOrder = 2;
    }
    scene.add(this.dots, this.lines);
    this.show(new Float32Array());
  }

  /** Shows contacts; rows hold position (3) in metres and force (3) in newtons. */
  show(rows) {
    const count = Math.min(rows.length / 6, MAX_CONTACTS);
    const matrix = new THREE.Matrix4();
    const ends = this.lines.geometry.getAttribute("position");
    for (let i = 0; i < count; i++) {
      const [x, y, z, fx, fy, fz] = rows.subarray(6 * i, 6 * i + 6);
      const force = Math.hypot(fx, fy, fz);
      const length = force > 0 ? Math.min(0.12, 0.03 * Math.sqrt(force)) / force : 0;
      this.dots.setMatrixAt(i, matrix.setPosition(x, y, z));
      ends.setXYZ(2 * i, x, y, z);
      ends.setXYZ(2 * i + 1, x + fx * length, y + fy * length, z + fz * length);
    }
    this.dots.count = count;
    this.dots.instanceMatrix.needsUpdate = ends.needsUpdate = true;
    this.lines.geometry.setDrawRange(0, 2 * count);
  }
}
