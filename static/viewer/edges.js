// The twin as outlines only, each object's in its colour: what is drawn over the photograph to compare the two.
import * as THREE from "three";

const PLAIN = "void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }";
const WHOLE = "varying vec2 at; void main() { at = uv; gl_Position = vec4(position.xy, 0.0, 1.0); }";
// Alpha tells objects apart. The inner two pixels of an object's border are its colour, the pixel outside is white.
const LINES = `
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

export class Edges {
  constructor() {
    this.target = new THREE.WebGLRenderTarget(1, 1, { minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter });
    this.lines = new THREE.ShaderMaterial({
      vertexShader: WHOLE, fragmentShader: LINES, depthTest: false, depthWrite: false, transparent: true, premultipliedAlpha: true,
      uniforms: { objects: { value: this.target.texture }, pixel: { value: new THREE.Vector2() } },
    });
    this.sheet = new THREE.Scene();
    const whole = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), this.lines);
    whole.frustumCulled = false;
    this.sheet.add(whole);
    this.flat = new Map();
  }

  /** In the place of renderer.render(scene, camera); whatever is beside the twin in the scene is drawn as ever. */
  draw(renderer, scene, camera, twin, colourOf) {
    const size = renderer.getDrawingBufferSize(new THREE.Vector2());
    if (this.target.width !== size.x || this.target.height !== size.y) this.target.setSize(size.x, size.y);
    this.lines.uniforms.pixel.value.set(1 / size.x, 1 / size.y);
    const dressed = this.#undress(twin, colourOf);
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(twin.root, camera);
    renderer.setRenderTarget(null);
    for (const [mesh, material, visible] of dressed) Object.assign(mesh, { material, visible });
    renderer.render(this.sheet, camera);
    twin.root.visible = renderer.autoClear = false;
    renderer.render(scene, camera);
    twin.root.visible = renderer.autoClear = true;
  }

  // Every mesh in one flat colour, its alpha the object's number; what only collides or marks is left out.
  #undress(twin, colourOf) {
    const dressed = [];
    twin.root.traverse((mesh) => {
      if (!mesh.isMesh) return;
      dressed.push([mesh, mesh.material, mesh.visible]);
      mesh.visible = !mesh.userData.outline && mesh.userData.group < 3;
      mesh.material = this.#paint(twin.names.indexOf(mesh.parent.userData.object) + 1, colourOf(mesh.parent.userData.object));
    });
    return dressed;
  }

  #paint(number, colour) {
    const key = `${number} ${colour}`;
    if (!this.flat.has(key)) {
      const { r, g, b } = new THREE.Color(colour).convertLinearToSRGB();
      this.flat.set(key, new THREE.ShaderMaterial({
        vertexShader: PLAIN, side: THREE.DoubleSide, blending: THREE.NoBlending,
        fragmentShader: `void main() { gl_FragColor = vec4(${[r, g, b, number / 255].map((value) => value.toFixed(5)).join(", ")}); }`,
      }));
    }
    return this.flat.get(key);
  }
}
