// Converts MuJoCo geoms to three.js meshes. Conventions stay MuJoCo's: z up, metres, quaternions wxyz.
import * as THREE from "three";

const INFINITE_PLANE_SIZE_M = 20; // drawn size of an infinite plane

export function quaternion([w, x, y, z]) {
  return new THREE.Quaternion(x, y, z, w);
}

/** Decodes textures in parallel. MuJoCo's first pixel row is v = 0, so no flip is needed. */
export function decodeTextures({ header, bytes }) {
  return Promise.all(
    header.textures.map(async ({ png: [offset, count] }) => {
      const blob = new Blob([new Uint8Array(bytes, offset, count)], { type: "image/png" });
      const texture = new THREE.Texture(await createImageBitmap(blob, { premultiplyAlpha: "none" }));
      texture.flipY = false;
      texture.colorSpace = THREE.SRGBColorSpace;
      texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
      texture.anisotropy = 4;
      texture.needsUpdate = true;
      return texture;
    }),
  );
}

export function decodeMeshes({ header, bytes }) {
  const array = (Type, [offset, count]) => new Type(bytes, offset, count);
  return header.meshes.map((mesh) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(array(Float32Array, mesh.vertices), 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(array(Float32Array, mesh.normals), 3));
    if (mesh.uvs) geometry.setAttribute("uv", new THREE.BufferAttribute(array(Float32Array, mesh.uvs), 2));
    geometry.setIndex(new THREE.BufferAttribute(array(Uint32Array, mesh.faces), 1));
    return geometry;
  });
}

/** Returns a geom as a mesh placed in its body, or null for kinds that are not drawn. */
export function meshOf(geom, meshes, textures) {
  const geometry = geom.shape === "mesh" ? meshes[geom.mesh] : primitive(geom);
  if (!geometry) return null;
  const mesh = new THREE.Mesh(geometry, materialOf(geom, textures));
  mesh.userData = { group: geom.group, isPlane: geom.shape === "plane", isBackground: geom.background };
  mesh.position.fromArray(geom.pos);
  mesh.quaternion.copy(quaternion(geom.quat_wxyz));
  mesh.castShadow = geom.shape !== "plane" && geom.group < 3 && !geom.background;
  mesh.receiveShadow = geom.group < 3 && !geom.background;
  return mesh;
}

function primitive({ shape, size: [a, b, c] }) {
  switch (shape) {
    case "box":
      return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
    case "sphere":
      return new THREE.SphereGeometry(a, 32, 20);
    case "ellipsoid":
      return new THREE.SphereGeometry(1, 32, 20).scale(a, b, c);
    case "cylinder":
      return new THREE.CylinderGeometry(a, a, 2 * b, 40).rotateX(Math.PI / 2);
    case "capsule":
      return new THREE.CapsuleGeometry(a, 2 * b, 10, 32).rotateX(Math.PI / 2);
    case "plane":
      return new THREE.PlaneGeometry(2 * a || INFINITE_PLANE_SIZE_M, 2 * b || INFINITE_PLANE_SIZE_M);
    default:
      return null;
  }
}

function materialOf(geom, textures) {
  if (geom.background) return new THREE.MeshBasicMaterial({ map: textures[geom.texture], fog: false });
  const [red, green, blue, alpha] = geom.rgba;
  const collision = geom.group >= 3,
    isClear = alpha < 1 && geom.shape !== "plane"; // a floor is hidden by showBackground
  const material = new THREE.MeshLambertMaterial({
    // half the cost of a standard material without a GPU
    color: new THREE.Color().setRGB(red, green, blue, THREE.SRGBColorSpace),
    opacity: collision ? 0.32 : isClear ? alpha : 1,
    transparent: collision || isClear,
    depthWrite: !collision,
    polygonOffset: collision, // many coincide with the visual geom
    polygonOffsetFactor: -2,
    polygonOffsetUnits: -2,
  });
  if (collision) material.color.set("#4fd1c5");
  else if (geom.texture >= 0) material.map = withRepeat(textures[geom.texture], geom);
  return material;
}

function withRepeat(texture, { shape, size, repeat, repeat_is_per_metre }) {
  if (shape === "mesh") return texture;
  const copy = texture.clone();
  const [width, height] = repeat_is_per_metre
    ? [2 * size[0] || INFINITE_PLANE_SIZE_M, 2 * size[1] || INFINITE_PLANE_SIZE_M]
    : [1, 1];
  copy.repeat.set(repeat[0] * width, -repeat[1] * height); // on primitives the first pixel row is at +y
  copy.offset.set(0, 1);
  return copy;
}
