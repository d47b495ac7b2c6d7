import { fill, h } from "/static/studio/dom.js";
import { camera } from "/static/frame_view/camera.js";
import { turbo } from "/static/frame_view/turbo.js";

const metres = (z) => (z ? `${z.toFixed(3)} m` : "no depth");

export default function mount({ element, trigger }) {
  const view = element.querySelector(".frame-view");
  let frame = null, depth = null, showTable = true, pointed = null; // where the pointer rests, whether depth is there yet or not
  const picture = h("canvas", { "aria-label": "Colour" }), map = h("canvas", { "aria-label": "Depth" }), readout = h("div.readout", { role: "status" });
  const image = new Image();

  const drawPicture = (at) => {
    const pen = picture.getContext("2d");
    pen.drawImage(image, 0, 0);
    if (showTable && frame.table.length) {
      pen.beginPath();
      frame.table.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.closePath();
            pen.strokeStyle = "#fff"; pen.lineWidth = frame.width / 160; pen.stroke();
      pen.strokeStyle = "#0072b2"; pen.lineWidth = frame.width / 280; pen.stroke();
    }
    if (at) cross(pen, at);
  };
  let plain = null;
  const drawDepth = (at) => {
    const pen = map.getContext("2d");
    if (plain) pen.putImageData(plain, 0, 0);
    if (at) cross(pen, at);
  };
  const cross = (pen, [x, y]) => {
    const r = frame.width / 60;
    for (const [colour, width] of [["#000", frame.width / 240], ["#fff", frame.width / 560]]) {
      pen.strokeStyle = colour; pen.lineWidth = width; pen.beginPath();
      pen.moveTo(x - r, y); pen.lineTo(x - r / 3, y); pen.moveTo(x + r / 3, y); pen.lineTo(x + r, y);
      pen.moveTo(x, y - r); pen.lineTo(x, y - r / 3); pen.moveTo(x, y + r / 3); pen.lineTo(x, y + r); pen.stroke();
    }
  };
  const paint = () => {
    const known = depth.filter((z, i) => i % 17 === 0 && z).sort();
    const [near, far] = [known[Math.floor(known.length * 0.02)] ?? 0, known[Math.floor(known.length * 0.98)] ?? 1];
    plain = map.getContext("2d").createImageData(frame.width, frame.height);
    for (let i = 0; i < depth.length; i++) {
      const [r, g, b] = depth[i] ? turbo((depth[i] - near) / Math.max(0.001, far - near)) : [20, 24, 29];
      plain.data.set([r, g, b, 255], i * 4);
    }
    drawDepth();
    fill(view.querySelector(".scale"), h("span", {}, `${near.toFixed(2)} m`), h("i"), h("span", {}, `${far.toFixed(2)} m`), h("span.faint", {}, "black: no depth"));
  };
  const look = ({ currentTarget: canvas, clientX, clientY }) => {
    pointed = { currentTarget: canvas, clientX, clientY };
    if (!depth || !frame) return;
    const box = canvas.getBoundingClientRect();
    const x = Math.min(frame.width - 1, Math.max(0, Math.floor((clientX - box.left) / box.width * frame.width)));
    const y = Math.min(frame.height - 1, Math.max(0, Math.floor((clientY - box.top) / box.height * frame.height)));
    const z = depth[y * frame.width + x];
    drawPicture([x, y]); drawDepth([x, y]);
    const { fx, fy, cx, cy } = frame.intrinsics;
    let height = "";
    if (z && frame.plane) {
      const [a, b, c, d] = frame.plane;
      height = `${((a * (x - cx) / fx * z + b * (y - cy) / fy * z + c * z + d) * 100).toFixed(1).replace(/^-0\.0$/, "0.0")} cm above the table`;
    }
    fill(readout, h("span", {}, `x ${x}  y ${y}`), h("strong", {}, metres(z)), h("span", {}, height));
  };
  const leave = () => { pointed = null; drawPicture(); drawDepth(); fill(readout, h("span.faint", {}, "Move over either picture to read depth and height above the table.")); };
  for (const canvas of [picture, map]) { canvas.addEventListener("pointermove", look); canvas.addEventListener("pointerleave", leave); }

  return async (value) => {
    if (!value?.image) { frame = null; return fill(view); }
    const fresh = frame?.image !== value.image, open = !fresh && Boolean(view.querySelector(".camera")?.open);
    frame = value;
    fill(view,
      h("div.pair", {}, h("figure", {}, picture, h("figcaption", {}, "Colour", h("label", {}, h("input", { type: "checkbox", checked: showTable, onchange: (e) => { showTable = e.target.checked; drawPicture(); } }), " found table"))),
        h("figure", {}, map, h("figcaption.scale", {}, "Depth"))),
      readout,
      h("div.facts", {}, value.facts.map(([key, text]) => h("div", {}, h("span.key", {}, key), text))),
      value.notes.map((note) => h("p.warning", {}, note)),
      camera(value, (numbers) => trigger("camera", numbers)));
    view.querySelector(".camera").open = open;
    if (fresh) {
      for (const canvas of [picture, map]) [canvas.width, canvas.height] = [value.width, value.height];
      image.src = value.image;
      const [bytes] = await Promise.all([fetch(value.depth).then((answer) => answer.arrayBuffer()), image.decode()]);
      if (frame?.image !== value.image) return; // another frame, or none, is shown by now
      depth = new Float32Array(bytes);
      paint();
    } else if (plain) paint();
    pointed ? look(pointed) : leave();
  };
}
