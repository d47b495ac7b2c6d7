"""Choice of the matcher, and scores of each matcher on labelled frames."""

from components.component import Component


class MatcherBar(Component):
    """Value: {token, page_token, chosen, matchers: [{name, title, about, unavailable}], note, library}.

    `note` says why another matcher replaces the chosen one; `library` names what is searched.

    Event: `choose` {name}. Requests are {page_token, kind, ...}: plan {frames, truth, libraries, masks, matchers} and
    start with the same; state; download {form: "csv" or "json"}, in base64. A state is {job, running, done, of,
    message, error, table: {head, lines: [{matcher, title, unavailable, exact, category, no_match_kept, seconds,
    model}]} or null}; exact and category are {f1, low, high, first, five}.
    """

    folder, event_names = "matcher_bar", ("choose",)
    patterns = ("fault", "form_field", "progress")
