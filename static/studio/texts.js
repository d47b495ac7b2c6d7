// Texts in the language of the person: t("Next"), t("{n} object|{n} objects", { n: 3 }). English is the key; the server
// chooses the language (studio/texts/) and sends its catalogue.
const { language, languages, texts } = await fetch(new URL("../../texts.json", import.meta.url))
  .then((response) => (response.ok ? response.json() : Promise.reject()))
  .catch(() => ({ language: "en", languages: { en: "English" }, texts: {} }));
document.documentElement.lang = language;

export { language, languages };

// Returns an English text in the person's language, its {placeholders} filled; "one|other" is chosen by n.
export function t(text, values = {}) {
  let found = texts[text] ?? text;
  if ("n" in values && found.includes("|")) found = found.split("|")[values.n === 1 ? 0 : 1];
  return found.replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);
}

// Keeps the choice for a year and loads the page in that language.
export function chooseLanguage(code) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs a secure context
  document.cookie = `language=${code}; path=/; max-age=31536000; SameSite=Lax`;
  location.reload();
}

// Translates the texts of markup that was written in English: its text nodes, and what its attributes say.
export function translateMarkup(root) {
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = /** @type {Text} */ (nodes.currentNode),
      text = node.data.trim();
    if (text && texts[text]) node.data = node.data.replace(text, texts[text]);
  }
  for (const name of ["title", "aria-label", "alt"])
    for (const element of root.querySelectorAll(`[${name}]`)) element.setAttribute(name, t(element.getAttribute(name)));
}
