import { fill, h, tickBox } from "/static/studio/dom.js";
import { cameraForm } from "/static/frame_view/camera.js";
import { turbo } from "/static/frame_view/turbo.js";
import { groundChoice } from "/static/frame_view/ground.js";
import { t } from "/static/studio/texts.js";

const metres = (z) => (z ? `${z.toFixed(3)} m` : t("no depth"));

export default function mount({ element, trigger }) {
  const view = element.querySelector(".frame-view");
  let frame = null,
    depth = null,
    showTable = true,
    preview = null, // the ground whose choice the pointer is on
    lastPointer = null; // the last pointer position, so that depth is shown there as soon as it has loaded
  const colourCanvas = h("canvas", { "aria-label": t("Colour") }),
    depthCanvas = h("canvas", { "aria-label": t("Depth") }),
    readout = h("div.readout", { role: "status" });
  const image = new Image();

  const drawPicture = (pixel) => {
    const context = colourCanvas.getContext("2d");
    context.drawImage(image, 0, 0);
    for (const outline of showTable ? [frame.table, ...(frame.shelves ?? [])] : [])
      if (outline.length) drawOutline(context, outline, "#0072b2");
    if (preview) drawOutline(context, preview.outline, "#d55e00");
    if (pixel) drawCross(context, pixel);
  };
  const drawOutline = (context, outline, colour) => {
    context.beginPath();
    for (const [x, y] of outline) context.lineTo(x, y); // the first one starts the path
    context.closePath();
    context.strokeStyle = "#fff";
    context.lineWidth = frame.width / 160;
    context.stroke();
    context.strokeStyle = colour;
    context.lineWidth = frame.width / 280;
    context.stroke();
  };
  let depthPixels = null;
  const drawDepth = (pixel) => {
    const context = depthCanvas.getContext("2d");
    if (depthPixels) context.putImageData(depthPixels, 0, 0);
    if (pixel) drawCross(context, pixel);
  };
  const drawCross = (context, [x, y]) => {
    const r = frame.width / 60;
    for (const [colour, width] of [
      ["#000", frame.width / 240],
      ["#fff", frame.width / 560],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x - r, y);
      context.lineTo(x - r / 3, y);
      context.moveTo(x + r / 3, y);
      context.lineTo(x + r, y);
      context.moveTo(x, y - r);
      context.lineTo(x, y - r / 3);
      context.moveTo(x, y + r / 3);
      context.lineTo(x, y + r);
      context.stroke();
    }
  };
  const paintDepth = () => {
    const depths = depth.filter((z, i) => i % 17 === 0 && z).sort();
    const [near, far] = [depths[Math.floor(depths.length * 0.02)] ?? 0, depths[Math.floor(depths.length * 0.98)] ?? 1];
    depthPixels = depthCanvas.getContext("2d").createImageData(frame.width, frame.height);
    const stripe = Math.max(2, frame.width / 80); // of the hatching where no depth is known
    for (let i = 0; i < depth.length; i++) {
      const isLight = Math.floor(((i % frame.width) + i / frame.width) / stripe) % 2;
      const hatching = isLight ? [150, 154, 160] : [104, 108, 114];
      const [r, g, b] = depth[i] ? turbo((depth[i] - near) / Math.max(0.001, far - near)) : hatching;
      depthPixels.data.set([r, g, b, 255], i * 4);
    }
    drawDepth();
    fill(
      view.querySelector(".scale"),
      h("span", {}, `${near.toFixed(2)} m`),
      h("i"),
      h("span", {}, `${far.toFixed(2)} m`),
      h("span.faint", {}, t("Hatched: no depth")),
    );
  };
  const readPixel = ({ currentTarget: canvas, clientX, clientY }) => {
    lastPointer = { currentTarget: canvas, clientX, clientY };
    if (!depth || !frame) return;
    const box = canvas.getBoundingClientRect();
    const x = Math.min(frame.width - 1, Math.max(0, Math.floor(((clientX - box.left) / box.width) * frame.width)));
    const y = Math.min(frame.height - 1, Math.max(0, Math.floor(((clientY - box.top) / box.height) * frame.height)));
    const z = depth[y * frame.width + x];
    drawPicture([x, y]);
    drawDepth([x, y]);
    const { fx, fy, cx, cy } = frame.intrinsics;
    let height = "";
    if (z && frame.plane) {
      const [a, b, c, d] = frame.plane;
      const above = ((a * (x - cx)) / fx) * z + ((b * (y - cy)) / fy) * z + c * z + d;
      height = t("{height} cm above the table", { height: (above * 100).toFixed(1).replace(/^-0\.0$/, "0.0") });
    }
    fill(readout, h("span", {}, `x ${x}  y ${y}`), h("strong", {}, metres(z)), h("span", {}, height));
  };
  const clearReadout = () => {
    lastPointer = null;
    drawPicture();
    drawDepth();
    fill(readout, h("span.faint", {}, t("Hover over a picture to read depth and height above the table.")));
  };
  for (const canvas of [colourCanvas, depthCanvas]) {
    canvas.addEventListener("pointermove", readPixel);
    canvas.addEventListener("pointerleave", clearReadout);
  }

  return async (value) => {
    if (!value?.image) {
      frame = null;
      return fill(view);
    }
    const isNew = frame?.image !== value.image,
      open = !isNew && Boolean(view.querySelector(".camera")?.open);
    frame = value;
    preview = null;
    fill(
      view,
      h(
        "div.pair",
        {},
        h(
          "figure",
          {},
          colourCanvas,
          h(
            "figcaption",
            {},
            t("Colour"),
            tickBox(t("Table outline"), showTable, (checked) => {
              showTable = checked;
              drawPicture();
            }),
          ),
        ),
        h("figure", {}, depthCanvas, h("figcaption.scale", {}, t("Depth"))),
      ),
      readout,
      h(
        "div.facts",
        {},
        value.facts.map(([key, text]) => h("div", {}, h("span.key", {}, key), text)),
      ),
      value.notes.map((note) => h("p.warning", {}, note)),
      groundChoice(value.grounds, {
        onPreview: (ground) => {
          preview = ground;
          if (frame) drawPicture(); // the pointer also leaves when another project replaces the choice
        },
        onChoose: (chosen) => trigger("ground", chosen),
      }),
      cameraForm(value, (numbers) => trigger("camera", numbers)),
    );
    view.querySelector(".camera").open = open;
    if (isNew) {
      for (const canvas of [colourCanvas, depthCanvas]) [canvas.width, canvas.height] = [value.width, value.height];
      image.src = value.image;
      const [bytes] = await Promise.all([fetch(value.depth).then((answer) => answer.arrayBuffer()), image.decode()]);
      if (frame?.image !== value.image) return; // another frame, or none, is shown by now
      depth = new Float32Array(bytes);
      paintDepth();
    } else if (depthPixels) paintDepth();
    lastPointer ? readPixel(lastPointer) : clearReadout();
  };
}
