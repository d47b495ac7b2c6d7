"""Colours of the objects, the same in the image, the list, the cards and the viewer, and the theme of the widgets."""

from gradio.themes import Base

PALETTE = (
    "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7",
    "#999933", "#882255", "#44aa99", "#b8860b", "#6a5acd", "#aa4499",
)  # fmt: skip
"""Twelve colours that the colour-blind can tell apart: Okabe and Ito's, then Paul Tol's muted ones. Each object's
number is shown beside its colour, so that no information is in the colour alone."""

SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "DejaVu Sans", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")

_COLOURS = {
    "body_background_fill": "var(--ground)",
    "body_text_color": "var(--ink)",
    "body_text_color_subdued": "var(--ink-2)",
    "background_fill_primary": "var(--paper)",
    "background_fill_secondary": "var(--ground)",
    "border_color_primary": "var(--line)",
    "border_color_accent": "var(--accent)",
    "color_accent_soft": "var(--accent-wash)",
    "block_background_fill": "var(--paper)",
    "block_label_text_color": "var(--ink-2)",
    "block_title_text_color": "var(--ink-2)",
    "block_label_background_fill": "var(--paper)",
    "input_background_fill": "var(--paper)",
    "input_border_color": "var(--line-2)",
    "input_border_color_focus": "var(--accent)",
    "input_placeholder_color": "var(--ink-3)",
    "button_primary_background_fill": "var(--accent)",
    "button_primary_background_fill_hover": "var(--accent-strong)",
    "button_primary_text_color": "var(--on-accent)",
    "button_secondary_background_fill": "var(--paper)",
    "button_secondary_background_fill_hover": "var(--wash)",
    "button_secondary_border_color": "var(--line-2)",
    "button_secondary_text_color": "var(--ink)",
    "link_text_color": "var(--accent)",
}
"""The tokens of static/studio.css, which follow the system's light or dark theme."""


def object_colour(id: int) -> str:
    """Return the colour "#rrggbb" of the object with that segment id."""
    return PALETTE[(id - 1) % len(PALETTE)]


def theme() -> Base:
    """Return the theme. Gradio's own dark mode looks the same: studio.css decides. Uses system fonts."""
    names = vars(Base())
    colours = _COLOURS | {f"{name}_dark": value for name, value in _COLOURS.items() if f"{name}_dark" in names}
    base = Base(font=SANS, font_mono=MONO, text_size="sm", spacing_size="sm", radius_size="md")
    return base.set(
        **colours, color_accent="var(--accent)", block_shadow="none", block_label_shadow="none", shadow_drop="none"
    )
