// Connection to the server: geometry once by HTTP, then frames and status over one WebSocket. See studio/viewer/.

/** The view is gone or not allowed; the message is shown to the user. */
export class ViewNotAvailable extends Error {}

/** The server does not answer. */
export class Unreachable extends Error {}

/**
 * Fetches a view's geometry {header, bytes, tag, focus}. Arrays in `header` are [offset, count] into `bytes`, and
 * `focus` lists the points that the camera frames at first, or is null. Only {tag, focus} if the geometry is the one
 * with the tag `known`.
 */
export async function fetchGeometry(token, known = "") {
  const headers = known ? { "If-None-Match": known } : {};
  const answer = await fetch(`${encodeURIComponent(token)}/geometry`, { headers }).catch(() => {
    throw new Unreachable();
  });
  const about = { tag: answer.headers.get("ETag") ?? "", focus: JSON.parse(answer.headers.get("X-Focus")) };
  if (answer.status === 304) return about;
  if (!answer.ok) throw new ViewNotAvailable(await answer.text());
  const buffer = await answer.arrayBuffer().catch(() => {
    throw new Unreachable();
  });
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { ...about, header, bytes: buffer.slice(4 + length) };
}

export class Connection {
  /** `handlers` has onFrame({time, begin, end, poses, contacts}), onStatus(object), onError(text), onLost(). */
  constructor(token, handlers) {
    const address = new URL(`${encodeURIComponent(token)}/ws`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.hash = "";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return handlers.onFrame(decodeFrame(data));
      const message = JSON.parse(data);
      if (message.type === "error") handlers.onError(message.text);
      else handlers.onStatus(message);
    };
    this.socket.onclose = () => handlers.onLost();
  }

  /** Sends a command, once the socket is open; one that comes after its end is dropped. */
  send(op, fields = {}) {
    const send = () => this.socket.send(JSON.stringify({ op, ...fields }));
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.addEventListener("open", send, { once: true });
    else if (this.socket.readyState === WebSocket.OPEN) send();
  }

  close() {
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close();
  }
}

function decodeFrame(buffer) {
  const view = new DataView(buffer);
  const bodies = view.getUint32(24, true);
  const contacts = view.getUint32(28, true);
  return {
    time: view.getFloat64(0, true),
    begin: view.getFloat64(8, true),
    end: view.getFloat64(16, true),
    poses: new Float32Array(buffer, 32, bodies * 7),
    contacts: new Float32Array(buffer, 32 + bodies * 28, contacts * 6),
  };
}
