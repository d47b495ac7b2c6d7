// One question in flight; of those that come meanwhile only the newest is asked next.
export class Asking {
  constructor(ask, answered) {
    Object.assign(this, { send: ask, answered, seq: 0, busy: false, waiting: null });
  }

  ask(question) {
    this.waiting = { ...question, seq: ++this.seq, at: performance.now() };
    if (!this.busy) this.next();
  }

  // Whatever is still on its way no longer matters.
  forget() {
    this.waiting = null;
    this.seq++;
  }

  async next() {
    const question = this.waiting;
    if (!question) return;
    this.waiting = null;
    this.busy = true;
    let answer;
    try { answer = await this.send(question); } catch (error) { answer = { error: "The server does not answer. Is it still running?" }; }
    this.busy = false;
    if (question.seq === this.seq) this.answered(answer, question, performance.now() - question.at);
    this.next();
  }
}
