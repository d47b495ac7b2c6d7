import { asker } from "./server.js";

// Keeps one request in flight. Of those made meanwhile only the newest is sent next; older ones are dropped.
export class LatestRequest {
  seq = 0;
  busy = false;
  waiting = null;

  /**
   * @param {(request: object) => Promise<any>} ask
   * @param {(answer: any, request: any, ms: number) => void} onAnswer
   */
  constructor(ask, onAnswer) {
    this.ask = asker({ ask });
    this.onAnswer = onAnswer;
  }

  send(request) {
    this.waiting = { ...request, seq: ++this.seq, at: performance.now() };
    if (!this.busy) this.sendNext();
  }

  // Ignores answers that are still on their way.
  cancel() {
    this.waiting = null;
    this.seq++;
  }

  async sendNext() {
    const request = this.waiting;
    if (!request) return;
    this.waiting = null;
    this.busy = true;
    const answer = await this.ask(request);
    this.busy = false;
    if (request.seq === this.seq) this.onAnswer(answer, request, performance.now() - request.at);
    this.sendNext();
  }
}
