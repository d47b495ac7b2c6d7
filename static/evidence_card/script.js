// How well the twin explains the photograph: what nothing explains, tinted, beside figures and doubts.
import { capitalised, fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element }) {
  const card = element.querySelector(".evidence-card");
  return (value) => {
    if (!value) return fill(card);
    const isDoubtful = value.doubts.length > 0;
    fill(
      card,
      h(
        `div.card.${isDoubtful ? "doubtful" : "good"}`,
        {},
        h(
          "figure",
          {},
          h(
            "div.layers",
            {},
            h("img", { src: value.photo, alt: t("Photograph") }),
            h("img.tint", { src: value.unexplained, alt: t("What nothing in the twin explains") }),
          ),
          h("figcaption", {}, h("i"), t("Nothing explains these pixels")),
        ),
        h(
          "div.text",
          {},
          h(
            "h3",
            {},
            isDoubtful ? t("? The twin may not show the photograph") : t("✓ The twin explains the photograph"),
          ),
          value.doubts.map(({ reason, cure }) =>
            h("p.doubt", {}, h("strong", {}, `${capitalised(reason)}. `), cure && `${capitalised(cure)}.`),
          ),
          h(
            "dl",
            {},
            value.figures.map(({ name, text, doubtful }) => [
              h("dt", {}, name),
              h(`dd${doubtful ? ".low" : ""}`, {}, doubtful ? `! ${text}` : text),
            ]),
          ),
          value.objects.map((text) => h("p.object", {}, `${capitalised(text)}.`)),
        ),
      ),
    );
  };
}
