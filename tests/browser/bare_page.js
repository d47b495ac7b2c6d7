// Mounts components in a blank page as the studio's own does in Gradio's, and draws what the project shows.
const { token, mounts } = JSON.parse(document.querySelector("#about").textContent);
const draws = new Map(), // by the component's id
  shown = new Map(),
  served = new Map(); // the studio's newest values; a test may show others
const bare = { sent: [], open: 0, version: -1, loaded: false, notices: [], held: [], show, shown: (id) => shown.get(id) };
window.bare = bare;

const post = async (address, body) =>
  (await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();

function show(id, text) {
  if (shown.get(id) === text) return;
  shown.set(id, text);
  draws.get(id)(JSON.parse(text));
}

let acted = Promise.resolve(); // when the studio has acted on the last event: each waits its turn, see EventOrder

async function send(id, name, message = {}) {
  bare.sent.push([name, message]);
  bare.open++;
  try {
    const answer = acted.then(() => post(`/bare/event/${id}/${name}`, { token, message }));
    acted = answer.catch(() => {});
    const { error } = await answer;
    if (error) bare.notices.push(error);
    if (!token) await update();
  } finally {
    bare.open--;
  }
}

async function mount({ id, script, settings }) {
  const element = document.querySelector(`#${id} > .own`);
  const { default: load } = await import(script);
  const server = { ask: (request) => post(`/bare/ask/${id}`, request) };
  const props = {
    ...settings,
    get value() {
      return shown.get(id);
    },
  };
  draws.set(id, load({ element, props, trigger: (name, data) => send(id, name, data), server, upload }));
}

async function upload(file) {
  const form = new FormData();
  form.append("files", file);
  const [path] = await (await fetch("/gradio_api/upload", { method: "POST", body: form })).json();
  return { path };
}

// Draws what the project shows once that is newer than what is known; at once in the gallery, which has no project.
async function update() {
  const query = new URLSearchParams({ token, show: mounts.map(({ id }) => id), version: bare.version });
  const { version, values } = await (await fetch(`/bare/values?${query}`)).json();
  for (const [id, text] of Object.entries(values)) {
    if (served.get(id) !== text && !bare.held.includes(id)) show(id, text);
    served.set(id, text);
  }
  Object.assign(bare, { version, loaded: true });
}

await Promise.all(mounts.map(mount));
do await update();
while (token);
