// Draws the twin as object outlines over the photograph, each in its object's colour.
import * as THREE from "three";

const MESH_VERTEX = "void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }";
const SCREEN_VERTEX = "varying vec2 at; void main() { at = uv; gl_Position = vec4(position.xy, 0.0, 1.0); }";
// Alpha is the object's number. The inner two pixels of a border have the object's colour, the pixel outside is white.
const EDGE_FRAGMENT = `
uniform sampler2D objects; uniform vec2 pixel; varying vec2 at;
void main() {
  vec4 own = texture2D(objects, at), other = own;
  float near = 9.0;
  for (int x = -2; x <= 2; x++) for (int y = -2; y <= 2; y++) {
    vec4 there = texture2D(objects, at + vec2(x, y) * pixel);
    float apart = length(vec2(x, y));
    if (abs(there.a - own.a) > 0.001 && apart < near) { near = apart; other = there; }
  }
  if (near > 2.3 || (own.a < 0.001 && near > 1.1)) discard;
  gl_FragColor = own.a < 0.001 ? vec4(0.85) : vec4(own.rgb, 1.0);
}`;

export class EdgeOverlay {
  constructor() {
    this.target = new THREE.WebGLRenderTarget(1, 1, { minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter });
    this.lines = new THREE.ShaderMaterial({
      vertexShader: SCREEN_VERTEX,
      fragmentShader: EDGE_FRAGMENT,
      depthTest: false,
      depthWrite: false,
      transparent: true,
      premultipliedAlpha: true,
      uniforms: { objects: { value: this.target.texture }, pixel: { value: new THREE.Vector2() } },
    });
    this.sheet = new THREE.Scene();
    const screen = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), this.lines);
    screen.frustumCulled = false;
    this.sheet.add(screen);
    this.flat = new Map();
  }

  /** Replaces renderer.render(scene, camera): draws the twin as outlines and the rest of the scene as usual. */
  draw(renderer, scene, camera, twin, colourOf) {
    const size = renderer.getDrawingBufferSize(new THREE.Vector2());
    if (this.target.width !== size.x || this.target.height !== size.y) this.target.setSize(size.x, size.y);
    this.lines.uniforms.pixel.value.set(1 / size.x, 1 / size.y);
    const originals = this.#useFlatMaterials(twin, colourOf);
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(twin.root, camera);
    renderer.setRenderTarget(null);
    for (const [mesh, material, visible] of originals) Object.assign(mesh, { material, visible });
    renderer.render(this.sheet, camera);
    twin.root.visible = renderer.autoClear = false;
    renderer.render(scene, camera);
    twin.root.visible = renderer.autoClear = true;
  }

  // Gives every mesh one flat colour with the object's number as alpha; hides collision geoms and outlines.
  #useFlatMaterials(twin, colourOf) {
    const originals = [];
    twin.root.traverse((mesh) => {
      if (!mesh.isMesh || mesh.userData.isSplats) return;
      originals.push([mesh, mesh.material, mesh.visible]);
      mesh.visible = !mesh.userData.outline && mesh.userData.group < 3;
      mesh.material = this.#flatMaterial(
        twin.names.indexOf(mesh.parent.userData.object) + 1,
        colourOf(mesh.parent.userData.object),
      );
    });
    return originals;
  }

  #flatMaterial(number, colour) {
    const key = `${number} ${colour}`;
    if (!this.flat.has(key)) {
      const { r, g, b } = new THREE.Color(colour).convertLinearToSRGB();
      const rgba = [r, g, b, number / 255].map((value) => value.toFixed(5)).join(", ");
      this.flat.set(
        key,
        new THREE.ShaderMaterial({
          vertexShader: MESH_VERTEX,
          side: THREE.DoubleSide,
          blending: THREE.NoBlending,
          fragmentShader: `void main() { gl_FragColor = vec4(${rgba}); }`,
        }),
      );
    }
    return this.flat.get(key);
  }
}
