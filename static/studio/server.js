// Requests to a component's `answer` in Python.
import { t } from "./texts.js";

const NO_ANSWER = { error: t("The server does not answer. Check that it is running."), isUnanswered: true };

// Returns a function that sends a request, together with what `context()` returns, and gives the answer. An answer with
// an error takes the place of one that never comes.
export const asker =
  (server, context = () => ({})) =>
  (request) =>
    server.ask({ ...request, ...context() }).then(
      (answer) => answer ?? NO_ANSWER,
      () => NO_ANSWER,
    );
