// Mounts components in a blank page as the studio's own does in Gradio's; values and events go by the page's channel.
import * as channel from "/static/studio/channel.js";

const { mounts } = JSON.parse(document.querySelector("#about").textContent);
const draws = new Map(), // by the component's id
  shown = new Map(),
  served = new Map(); // the studio's newest values; a test may show others
const bare = { sent: [], held: [], answered: [], show, shown: (id) => shown.get(id), channel };
window.bare = bare;

const post = async (address, body) =>
  (await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();

function show(id, text) {
  if (shown.get(id) === text) return;
  shown.set(id, text);
  draws.get(id)(JSON.parse(text));
}

async function mount({ id, script, settings, replies }) {
  const element = document.querySelector(`#${id} > .own`);
  const { default: load } = await import(script);
  const server = { ask: (request) => post(`/bare/ask/${id}`, request) };
  const props = {
    ...settings,
    get value() {
      return shown.get(id);
    },
  };
  const trigger = (name, data = {}) => {
    bare.sent.push([name, data]);
    const known = ["*", name, `${id}.${name}`];
    if (![...replies, ...bare.answered].some((one) => known.includes(one))) channel.send(id, name, data);
  };
  draws.set(id, load({ element, props, trigger, server, upload }));
  channel.join(id, element, (value) => {
    const text = JSON.stringify(value);
    if (served.get(id) !== text && !bare.held.includes(id)) show(id, text);
    served.set(id, text);
  });
}

async function upload(file) {
  const form = new FormData();
  form.append("files", file);
  const [path] = await (await fetch("/gradio_api/upload", { method: "POST", body: form })).json();
  return { path };
}

await Promise.all(mounts.map(mount));
channel.start(channel, false);
