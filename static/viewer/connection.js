// The line to the server: the geometry once, then pictures and status over one WebSocket. See studio/viewing/.

/** A view that is gone or that one may not see; the message is for the person. */
export class Refused extends Error {}

/** The server does not answer at all: stopped, or the line to it is cut. */
export class Unreachable extends Error {}

/** Fetches a view's shapes: {header, bytes}, the arrays of `header` being [offset, count] into `bytes`. */
export async function fetchGeometry(token) {
  const answer = await fetch(`${encodeURIComponent(token)}/geometry`).catch(() => { throw new Unreachable(); });
  if (!answer.ok) throw new Refused(await answer.text());
  const whole = await answer.arrayBuffer().catch(() => { throw new Unreachable(); });
  const length = new DataView(whole).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)));
  return { header, bytes: whole.slice(4 + length) };
}

export class Connection {
  /** `heard` has onPicture({time, begin, end, poses, contacts}), onStatus(object), onLost(). */
  constructor(token, heard) {
    const address = new URL(`${encodeURIComponent(token)}/ws`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.hash = "";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) =>
      typeof data === "string" ? heard.onStatus(JSON.parse(data)) : heard.onPicture(decodePicture(data));
    this.socket.onclose = () => heard.onLost();
  }

  wish(op, more = {}) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ op, ...more }));
  }

  close() {
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close();
  }
}

function decodePicture(buffer) {
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
