"""The texts of the page in the language of the person who reads it: `t("Next")`.

English stands in the code. A file NAME.json of this folder translates it into one more language; docs/extending.md says
how to add one.
"""

from studio.texts.catalogue import LANGUAGES, catalogue
from studio.texts.language import choose_language, current_language
from studio.texts.translation import t, translated

__all__ = ["LANGUAGES", "catalogue", "choose_language", "current_language", "t", "translated"]
