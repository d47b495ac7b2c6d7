// Aligns the robot's base: a file, or clicks on its gripper in photographs of one camera. The result is looked at before
// it is taken. See components/robot_aligner.py.
import { ClickPicture } from "/static/camera_aligner/click_picture.js";
import { filesOfInput } from "/static/studio/dropped_files.js";
import { fill, h } from "/static/studio/dom.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const OVERLAY_TITLE = t("The base's axes over the photograph: x red, y green, z blue");

export default function mount({ element, trigger, server, upload }) {
  const root = element.querySelector(".robot-aligner");
  let value = {},
    files = [],
    photos = [],
    found = null,
    asked = 0;
  const ask = asker(server, () => ({ token: value.token }));

  const errorElement = h("p.fault", { role: "alert", hidden: true }),
    resultElement = h("div.result", { role: "status" }),
    photosElement = h("div.pictures"),
    chosenElement = h("p.muted"),
    tool = h("input", { type: "text", "aria-label": t("Tool: site or body of the model") });
  const alignButton = h("button.studio-button.primary", { "data-act": "align", onclick: align }, t("Align"));
  const fileButton = (label, name, accept, onFiles, multiple) =>
    h(
      "label.studio-button.file-button",
      {},
      label,
      h("input.hidden-input", {
        type: "file",
        "aria-label": label,
        "data-file": name,
        accept,
        multiple,
        onchange: ({ target }) => {
          onFiles(filesOfInput(target.files));
          target.value = "";
        },
      }),
    );
  const page = h(
    "section.full-page",
    { hidden: true, role: "dialog", "aria-label": t("Align the robot") },
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Align the robot")),
      h(
        "p.hint",
        {},
        t(
          "Choose the base's pose or a hand-eye calibration (.json); or choose the robot's model, and click its gripper in two or more photographs of this camera.",
        ),
      ),
      alignButton,
      h(
        "button.studio-button.plain",
        { title: t("Close (Esc)"), "aria-label": t("Close the alignment"), onclick: close },
        "✕",
      ),
    ),
    h(
      "div.full-page-body",
      {},
      photosElement,
      h(
        "aside.full-page-side",
        {},
        errorElement,
        h(
          "div.choosers",
          {},
          fileButton(t("Pose or model …"), "base", ".json,.xml,.mjcf,.urdf", chooseFiles, true),
          fileButton(t("Photograph …"), "photo", "image/*", (more) => more.forEach(addPhoto), true),
        ),
        chosenElement,
        h("label.field", {}, t("Tool: site or body of the model"), tool),
        resultElement,
      ),
    ),
  );
  const openButton = h(
    "button.studio-button",
    { "data-act": "open-robot-alignment", "data-sends": "robot-aligner.align", onclick: open },
    t("Align the robot …"),
  );

  function showError(text) {
    errorElement.hidden = !text;
    errorElement.textContent = text ?? "";
    return Boolean(text);
  }

  function chooseFiles(chosen) {
    files = chosen;
    chosenElement.textContent = files.map(({ name }) => name).join(", ");
    forget();
  }

  /** Shows one more photograph, of the same camera as the project's. */
  function addPhoto({ file, name }) {
    const address = URL.createObjectURL(file);
    const image = new Image();
    image.onload = () => {
      const [first] = photos;
      if (
        image.naturalWidth !== first.picture.image.naturalWidth ||
        image.naturalHeight !== first.picture.image.naturalHeight
      )
        return showError(t("{name} has another size than the photograph; take it with the same camera.", { name }));
      showError("");
      photos.push(makePhoto(name, address));
      draw();
    };
    image.onerror = () => showError(t("{name} is not a picture.", { name }));
    image.src = address;
  }

  function makePhoto(title, address) {
    const photo = { clicks: [] };
    photo.picture = new ClickPicture(title, (at) => {
      photo.clicks = [at];
      photo.picture.mark(photo.clicks, null);
      forget();
    });
    photo.angles = h("input", {
      type: "text",
      placeholder: "shoulder=0.4 elbow=-1.2",
      "aria-label": t("Joint angles (rad): {photo}", { photo: title }),
      oninput: forget,
    });
    photo.picture.element.append(h("label.field", {}, t("Joint angles (rad)"), photo.angles));
    photo.picture.show(address);
    return photo;
  }

  function forget() {
    found = null;
    asked += 1;
    fill(resultElement);
  }

  const clicksOf = () =>
    photos.flatMap(({ clicks, angles }, photo) =>
      clicks.map((pixel) => ({ photo, pixel, q: readAngles(angles.value) })),
    );

  async function align() {
    const request = ++asked;
    showError("");
    fill(
      resultElement,
      h("p", {}, h("i.spin"), ` ${t("Computing the base")} `),
      h("button.studio-button", { "data-act": "stop", onclick: () => ask({ kind: "stop" }) }, t("■ Stop")),
    );
    alignButton.disabled = true;
    let answer;
    try {
      const sent = await Promise.all(files.map(async ({ file, name }) => ({ path: (await upload(file)).path, name })));
      answer = await ask({ kind: "align", files: sent, clicks: clicksOf(), tool: tool.value.trim() });
    } catch {
      answer = { error: t("The files could not be uploaded. Try again.") };
    }
    alignButton.disabled = false;
    if (request !== asked) return;
    if (showError(answer.error)) return fill(resultElement);
    found = answer.stopped ? null : answer;
    fill(resultElement, found ? result(found) : h("p", {}, t("Stopped.")));
  }

  const result = (one) => [
    h(
      "p",
      { "data-result": "base" },
      t("The base stands at x {x}, y {y}, z {z} m.", {
        x: one.world_from_base[0][3].toFixed(3),
        y: one.world_from_base[1][3].toFixed(3),
        z: one.world_from_base[2][3].toFixed(3),
      }),
    ),
    one.residuals_px &&
      h(
        "p",
        {},
        t("Standard deviation up to {deg}° and {mm} mm; clicks are up to {px} px off.", {
          deg: Math.max(...one.rotation_std_deg).toFixed(2),
          mm: (1000 * Math.max(...one.position_std_m)).toFixed(1),
          px: Math.max(...one.residuals_px).toFixed(1),
        }),
      ),
    h("img.overlay", { src: one.overlay, alt: OVERLAY_TITLE, title: OVERLAY_TITLE }),
    h("button.studio-button.primary", { "data-act": "take", onclick: take }, t("Use this base")),
    h("p.muted", {}, t("Undo takes it back.")),
  ];

  function take() {
    trigger("take", { id: found.id });
    forget();
    close();
  }

  function draw() {
    fill(
      photosElement,
      photos.map(({ picture }) => picture.element),
    );
  }

  function open() {
    page.hidden = false;
    if (!photos.length) photos = [makePhoto(t("Photograph"), value.photo)];
    draw();
  }

  function close() {
    page.hidden = true;
    openButton.focus();
  }

  document.addEventListener(
    "keydown",
    (event) => {
      if (page.hidden || !element.isConnected) return;
      event.stopPropagation();
      if (event.key === "Escape") close();
    },
    true,
  );
  fill(root, openButton, page);

  return (next) => {
    if (next?.token !== value.token) {
      photos = [];
      chooseFiles([]);
    }
    value = next ?? {};
    openButton.hidden = !value.token;
  };
}

/** Returns {joint: angle} of "joint=angle joint=angle", with commas or without. */
function readAngles(text) {
  const pairs = [...text.matchAll(/([^\s,=]+)\s*=\s*(-?[\d.]+(?:e-?\d+)?)/gi)];
  return Object.fromEntries(pairs.map(([, joint, angle]) => [joint, Number(angle)]));
}
