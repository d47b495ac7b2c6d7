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

_LIGHT = {
    "body_background_fill": "#f4f5f7",
    "body_text_color": "#1b2430",
    "body_text_color_subdued": "#55606e",
    "background_fill_primary": "#ffffff",
    "background_fill_secondary": "#f4f5f7",
    "border_color_primary": "#e2e6eb",
    "border_color_accent": "#1f5fa6",
    "color_accent_soft": "#e8f0f9",
    "block_background_fill": "#ffffff",
    "block_label_text_color": "#55606e",
    "block_title_text_color": "#55606e",
    "block_label_background_fill": "#ffffff",
    "input_background_fill": "#ffffff",
    "input_border_color": "#cdd4dc",
    "input_border_color_focus": "#1f5fa6",
    "input_placeholder_color": "#7c8794",
    "button_primary_background_fill": "#1f5fa6",
    "button_primary_background_fill_hover": "#174c87",
    "button_primary_text_color": "#ffffff",
    "button_secondary_background_fill": "#ffffff",
    "button_secondary_background_fill_hover": "#eef2f6",
    "button_secondary_border_color": "#cdd4dc",
    "button_secondary_text_color": "#1b2430",
    "link_text_color": "#1f5fa6",
}


def object_colour(id: int) -> str:
    """Return the colour "#rrggbb" of the object with that segment id."""
    return PALETTE[(id - 1) % len(PALETTE)]


def theme() -> Base:
    """Return the theme. It is light in dark mode too, since photographs are judged against it. Uses system fonts."""
    names = vars(Base())
    colours = _LIGHT | {f"{name}_dark": value for name, value in _LIGHT.items() if f"{name}_dark" in names}
    base = Base(font=SANS, font_mono=MONO, text_size="sm", spacing_size="sm", radius_size="md")
    return base.set(
        **colours, color_accent="#1f5fa6", block_shadow="none", block_label_shadow="none", shadow_drop="none"
    )
