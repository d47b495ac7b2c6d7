// Contacts as dots, their forces as short lines. Drawn over everything: they lie between bodies, where nobody sees them.
import * as THREE from "three";

const MOST = 100;

export class Contacts {
  constructor(scene) {
    const paint = { color: "#ffb000", depthTest: false, transparent: true };
    this.dots = new THREE.InstancedMesh(new THREE.OctahedronGeometry(0.003), new THREE.MeshBasicMaterial(paint), MOST);
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial(paint));
    this.lines.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(MOST * 6), 3));
    for (const drawn of [this.dots, this.lines]) {
      drawn.frustumCulled = false;
      drawn.renderOrder = 2;
    }
    scene.add(this.dots, this.lines);
    this.show(new Float32Array());
  }

  /** Rows of position (3) and force (3, N). */
  show(rows) {
    const count = Math.min(rows.length / 6, MOST);
    const place = new THREE.Matrix4();
    const ends = this.lines.geometry.getAttribute("position");
    for (let i = 0; i < count; i++) {
      const [x, y, z, fx, fy, fz] = rows.subarray(6 * i, 6 * i + 6);
      const force = Math.hypot(fx, fy, fz);
      const length = force > 0 ? Math.min(0.12, 0.03 * Math.sqrt(force)) / force : 0;
      this.dots.setMatrixAt(i, place.setPosition(x, y, z));
      ends.setXYZ(2 * i, x, y, z);
      ends.setXYZ(2 * i + 1, x + fx * length, y + fy * length, z + fz * length);
    }
    this.dots.count = count;
    this.dots.instanceMatrix.needsUpdate = ends.needsUpdate = true;
    this.lines.geometry.setDrawRange(0, 2 * count);
  }
}
