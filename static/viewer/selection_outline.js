// Outline of constant width on screen: the shape expanded along its normals, minus the shape itself by the stencil.
// Visible through objects in front of it.
import * as THREE from "three";
import { mergeVertices } from "three/addons/utils/BufferGeometryUtils.js";

const VERTEX = `
uniform vec2 size; uniform float width;
void main() {
  vec4 place = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  vec2 out_ = (projectionMatrix * vec4(normalMatrix * normal, 0.0)).xy * size;
  place.xy += normalize(out_ + 1e-9) * width * 2.0 / size * place.w;
  gl_Position = place;
}`;
const FRAGMENT = "uniform vec3 colour; void main() { gl_FragColor = vec4(colour, 1.0); }";
const smoothGeometries = new WeakMap(); // geometry -> copy with one normal per vertex, so that edges do not tear open

export class SelectionOutline {
  /** `bit` is this outline's stencil bit, which keeps the line off the object itself. */
  constructor(width, bit) {
    const stencil = { stencilWrite: true, stencilRef: bit, stencilFuncMask: bit, depthTest: false, depthWrite: false };
    this.order = 10 * bit;
    this.mask = new THREE.MeshBasicMaterial({
      ...stencil,
      colorWrite: false,
      side: THREE.DoubleSide,
      stencilWriteMask: bit,
      stencilZPass: THREE.ReplaceStencilOp,
    });
    this.line = new THREE.ShaderMaterial({
      ...stencil,
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      side: THREE.DoubleSide,
      stencilWriteMask: 0,
      stencilFunc: THREE.NotEqualStencilFunc,
      uniforms: {
        size: { value: new THREE.Vector2(1, 1) },
        width: { value: width },
        colour: { value: new THREE.Color() },
      },
    });
    this.outlineMeshes = [];
  }

  setMeshes(meshes, colour = "#ffffff") {
    for (const mesh of this.outlineMeshes) mesh.removeFromParent();
    this.line.uniforms.colour.value.set(colour).convertLinearToSRGB();
    this.outlineMeshes = meshes.flatMap((mesh) => [this.#draw(mesh, this.mask, 0), this.#draw(mesh, this.line, 1)]);
  }

  #draw(mesh, material, order) {
    const outlineMesh = new THREE.Mesh(smoothGeometry(mesh.geometry), material);
    outlineMesh.userData.outline = true;
    outlineMesh.renderOrder = this.order + order;
    outlineMesh.position.copy(mesh.position);
    outlineMesh.quaternion.copy(mesh.quaternion);
    mesh.parent.add(outlineMesh);
    return outlineMesh;
  }

  resize(width, height) {
    this.line.uniforms.size.value.set(width, height);
  }
}

function smoothGeometry(geometry) {
  if (!smoothGeometries.has(geometry)) {
    const positions = new THREE.BufferGeometry();
    positions.setAttribute("position", geometry.getAttribute("position"));
    positions.setIndex(geometry.index);
    const merged = mergeVertices(positions, 1e-5);
    merged.computeVertexNormals();
    smoothGeometries.set(geometry, merged);
  }
  return smoothGeometries.get(geometry);
}
