// A line of constant width around something: its shape grown on the screen, less the shape itself by the stencil. Seen
// through what stands in front, so that a selection is never lost.
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
const rounded = new WeakMap(); // geometry -> the same with one normal per corner, lest edges tear open

export class Outline {
  /** `bit` is this outline's own bit of the stencil, which keeps the line off the object itself. */
  constructor(width, bit) {
    const stencil = { stencilWrite: true, stencilRef: bit, stencilFuncMask: bit, depthTest: false, depthWrite: false };
    this.order = 10 * bit;
    this.mask = new THREE.MeshBasicMaterial({
      ...stencil, colorWrite: false, side: THREE.DoubleSide, stencilWriteMask: bit, stencilZPass: THREE.ReplaceStencilOp,
    });
    this.line = new THREE.ShaderMaterial({
      ...stencil, vertexShader: VERTEX, fragmentShader: FRAGMENT, side: THREE.DoubleSide,
      stencilWriteMask: 0, stencilFunc: THREE.NotEqualStencilFunc,
      uniforms: { size: { value: new THREE.Vector2(1, 1) }, width: { value: width }, colour: { value: new THREE.Color() } },
    });
    this.drawn = [];
  }

  around(meshes, colour = "#ffffff") {
    for (const each of this.drawn) each.removeFromParent();
    this.line.uniforms.colour.value.set(colour).convertLinearToSRGB();
    this.drawn = meshes.flatMap((mesh) => [this.#draw(mesh, this.mask, 0), this.#draw(mesh, this.line, 1)]);
  }

  #draw(mesh, material, later) {
    const drawn = new THREE.Mesh(roundedOf(mesh.geometry), material);
    drawn.userData.outline = true;
    drawn.renderOrder = this.order + later;
    drawn.position.copy(mesh.position);
    drawn.quaternion.copy(mesh.quaternion);
    mesh.parent.add(drawn);
    return drawn;
  }

  resize(width, height) {
    this.line.uniforms.size.value.set(width, height);
  }
}

function roundedOf(geometry) {
  if (!rounded.has(geometry)) {
    const bare = new THREE.BufferGeometry();
    bare.setAttribute("position", geometry.getAttribute("position"));
    bare.setIndex(geometry.index);
    const joined = mergeVertices(bare, 1e-5);
    joined.computeVertexNormals();
    rounded.set(geometry, joined);
  }
  return rounded.get(geometry);
}
