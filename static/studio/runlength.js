// COCO's uncompressed run lengths: column by column, zeros first.
export function decode({ size: [height, width], counts }) {
  const mask = new Uint8Array(width * height);
  let at = 0;
  counts.forEach((count, i) => {
    if (i % 2) for (let k = at; k < at + count; k++) mask[(k % height) * width + Math.floor(k / height)] = 1;
    at += count;
  });
  return mask;
}

export function encode(mask, width, height) {
  const counts = [];
  let run = 0, last = 0;
  for (let x = 0; x < width; x++)
    for (let y = 0; y < height; y++) {
      const value = mask[y * width + x];
      if (value === last) run++;
      else { counts.push(run); run = 1; last = value; }
    }
  counts.push(run);
  return { size: [height, width], counts };
}
