// The viewer's page in a frame: what Python sets goes in, what a person clicks there comes out.

export default function ({ element, trigger }) {
  const frame = element.querySelector("iframe");
  let wanted = {}, ready = false;

  const tell = (message) => frame.contentWindow?.postMessage(message, location.origin);

  function pass() {
    if (!ready) return;
    tell({ type: "palette", colours: wanted.palette ?? {}, parts: wanted.parts ?? {} });
    tell({ type: "select", name: wanted.selected ?? "" });
    tell({ type: "load", token: wanted.token ?? "" });
  }

  function hear({ source, origin, data }) {
    if (!frame.isConnected) return removeEventListener("message", hear);
    if (source !== frame.contentWindow || origin !== location.origin) return;
    if (data.type === "ready") {
      ready = true;
      pass();
    }
    if (data.type === "select" && data.name !== (wanted.selected ?? "")) {
      wanted.selected = data.name;
      trigger("select", { index: 0, value: data.name, selected: Boolean(data.name) });
    }
  }

  addEventListener("message", hear);
  return (value) => {
    wanted = typeof value === "string" ? { token: value } : { ...value };
    element.querySelector(".viewer-box").hidden = Boolean(wanted.away);
    if (frame.getAttribute("src")) pass();
    else if (wanted.token) {
      frame.hidden = false;
      frame.src = "/viewer/"; // not before it is needed: a hidden tab stays cheap
    }
  };
}
