"""Normal form of an instruction's text: steps, arrows, short forms and wordings that mean the same become one."""

# ruff: noqa: E501  (a pattern reads best on one line)

import re
from collections.abc import Sequence

CONTRACTIONS = (
    (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"\b(let)'s\b", r"\1's"), (r"n't\b", " not"),
    (r"\b(i|you|we|they|it|that)'d\b", r"\1 would"), (r"\b(i|you|we|they|it|that)'ll\b", r"\1 will"),
    (r"'re\b", " are"), (r"\bi'm\b|\bim\b", "i am"), (r"\b(it|that|there|here|what|where|which|who)'s\b", r"\1 is"),
    (r"'ve\b", " have"),
    (r"(\w+)'s (?=(?:on|in|at|behind|next|near|inside|to|not|been|going|done|there|lying|standing|still|already)\b)", r"\1 is "), (r"\bdont\b", "do not"), (r"\bdoesnt\b", "does not"), (r"\bisnt\b", "is not"),
    (r"\barent\b", "are not"), (r"\bmustnt\b", "must not"), (r"\btheres\b", "there is"), (r"\bwanna\b", "want to"),
    (r"\bgonna\b", "going to"), (r"\bgotta\b", "have to"), (r"\bu\b", "you"), (r"\bpls\b|\bplz\b|\bpleez\b", "please"),
    (r"\bthx\b|\bta\b|\btnx\b", "thanks"), (r"\bw/", "with "), (r"\bb4\b", "before"), (r"\binbetween\b", "in between"),
    (r"\binfront\b", "in front"), (r"\bontop\b", "on top"), (r"\bnextto\b", "next to"), (r"\babit\b", "a bit"),
    (r"\s'?n'?\s", " and "), (r"\b(left|right)-(hand|most)\b", r"\1 \2"), (r"\b(left|right)(hand)\b", r"\1 \2"),
    (r"\b(left|right) most\b", r"\1most"), (r"\b(front|back|middle|upper|lower|far|near)-(?=[a-z])", r"\1 "),
)  # fmt: skip
"""Short forms and common spellings, in full."""
PREPOSITION = r"(?:on|onto|in|into|inside|behind|in front|next to|near|beside|between|left of|right of|to)\b"
SIGNS = (
    (r"\s*(?:<-+>|<=+>|↔|⇄)\s*", " <to> "),
    (rf"\s*(?:-+>|=+>|→|⇒|»|>>)\s*(?={PREPOSITION})", " "), (r"\s*(?:-+>|=+>|→|⇒|»|>>)\s*", " to "),
    (r":(?= move\b)", " "), (r"\s+[-–—]+\s+|[–—]|\.\.+|…|[():]", " , "), (r"\s\+\s", " and "), (r"(?<=[a-z]) ?/ ?(?=[a-z])", " or "),
    (r"[\"“”„«»]", " "),
)  # fmt: skip
SENTENCE_END = re.compile(r"[!?.;]+(?=\s|$)|\n")
BULLET = re.compile(r"(?:^|(?<=\n)|(?<=;))\s*[-*•·]\s+")
STEP = re.compile(
    r"(?:(?<=^)|(?<=[\s;,:.!(]))(?:\(?step\s+(\d{1,2}|one|two|three|four|five|six)\b\s*[.):,-]*|\(?(\d{1,2})[.)]\)?)\s*"
    r"(?=[a-z])"
)
"""Number of a step: "1. ", "2) ", "(3) ", "step 4: ", "step five - "."""
FIRST_STEPS = ("1", "one")
WORD_STEP = re.compile(
    r"(?:^|(?<=[;,.!\n])) *(?:the )?(first|firstly|second|secondly|third|thirdly|fourth|fourthly|fifth|fifthly|last|lastly|"
    r"finally|a|b|c|d|e|next|(?:number )?(?:one|two|three|four|five))(?: (?:step|task|job|thing|work|action|move|point|item|stage|phase|order|command|of all))?(?: ?[:)] ?| - )\s*"
)
"""Step that a word counts: "First: ", "second step: ", "b) "."""
FIRST_WORDS = ("first", "firstly", "a", "one", "number one")
THAT = r"(?:that|this|it|those|these|you|they|he|all that|everything|the first (?:one|step|part|job|task)|the robot)"
DONE = (
    r"(?:done|finished|completed|complete|ready|over|there|in place|in position|accomplished|out of the way|sorted|set)"
)
RULES: Sequence[tuple[str, str]] = (
    # dictated punctuation, signs
    (r",? ?\bcomma\b,?", " ,"), (r"\b(?:full stop|period)\b", " ;"),
    (r"\b((?:the )?[\w ]+?) ?<to> ?((?:the )?[\w ]+?)(?=$|[;,])(?:,? ?(?:swap|switch|exchange)(?: (?:places|positions|them))?)?", r"swap \1 and \2"),
    (r"(?:>=?|≥|min\.?) ?(?=\d)", " "), (r"\b(\d+ ?(?:cm|mm|m|inch|inches)) (?:away )?from\b", r"\1 away from"),
    (r"\bleave (?!it\b)([\w ]+?) out(?: of (?:it|this|that))?(?=\s*(?:$|[;,.!]))", r"leave \1 alone"),
    (r"\b(in|on|into|onto) there\b(?! (?:is|are)\b)", r"\1 it"),
    (r"\b(?:to |in |into |at )?(?:the (?:place|spot|position) (?:of|where)|where) (the [\w ]+?) (?:is|was|has been|had been|stands|stood|sits|"
     r"sat|lies|lay)(?: (?:now|before|at first|originally|standing))?(?=\s*(?:$|[;,.!]))", r"in the place of \1"),
    (r"\bwhere (?:is|was|stands|stood) ((?:the )?[\w ]+?)(?=\s*(?:$|[;,.!]))", r"in the place of \1"),
    # sounds and words of spoken language
    (r"\b(?:u+h+m*|u+m+|e+r+m*|e+h+|h+m+|mhm|ye+ah|yep|yup|aha|oh|ah|whoops|you know|sort of|kind of(?= like)|or so|ta)\b,?", " "),
    (r"\blike (?=(?:on|in|next|behind|right|left|over|all the way)\b)", " "),
    (r"\b(?:(?:so )?what (?:i|we) (?:want|need|would like|mean)(?: you to do)?(?: now)? is(?: to| that| for you to)?|please to"
     r"|do(?= (?:put|move|place|bring|set)\b)|be a (?:love|sweetheart|good robot|darling) and)\b", " please "),
    # a word that is replaced at once
    (r"\b(?:the|a|an) (?:[\w-]+ ){1,3},? ?(?:no,? sorry|no,? wait|wait,? no|sorry,? no|sorry|no,? no|i mean|no,? i mean|or rather|wait),? "
     r"(?:not (?:the|that) \w+,? )?(?=the |a |an )", " "),
    # how many stay
    (r",? ?\b(?:and |but )?(?:the )?(?:third|fourth|last|other|remaining|rest)(?: one| ones)? (?:stays?|remains?|can stay|may stay|is left|"
     r"are left)(?: out| behind| put| there| where (?:it|they) (?:is|are))?(?: of it)?(?=\s*(?:$|[;,.!]))", " "),
    # places of other objects
    (r"\b(?:put|place|set|move|bring) (the [\w ]+?) (?:to )?where (the [\w ]+?) (?:is|was|stands|stood|sits|sat)(?: now)?,? and (?:put )?"
     r"\2 (?:to )?where \1 (?:is|was|stands|stood|sits|sat)(?: now)?\b", r"swap \1 and \2"),
    (r"\bswap ([\w]+) or ([\w]+)\b", r"swap \1 and \2"),
    (r", (?:all )?(?:in )?(?:one|a|a single|one single) (?:straight |neat |nice |single )?(row|line|column)\b(?! of)", r" in a \1"),
    (r"\b(?:in|into|on|onto|as|along|to form) (?:a|an|one|the same) (?:(?:dead|perfectly|single|straight|neat|nice|tidy|long|proper|orderly|"
     r"horizontal|even|clean) )+(row|line|column|queue)\b(?! of)", r"in a \1"),
    (r"\b(?:on|along) (?:a|one|the same) (row|line)\b(?! of)", r"in a \1"),
    (r"\bstand (the [\w ]+?|it|them) (?:back )?up\b(?! (?:on|in)\b)", r"stand \1 upright"),
    (r"\b(?:turn|flip|switch|change|swap) the (?:order|row|line|sequence) (?:round|around|about|over)\b|"
     r"\b(?:reverse|invert|flip) the (?:order|row|line|sequence)\b", "the other way round"),
    (r"\b(?:all|both) in (?:one|a) (?:nice|long|neat) (row|line)\b", r"all in a \1"),
    # a later step, an earlier step
    (rf"\b(?:and |but )?(?:only )?(?:once|when|after|as soon as|if) {THAT} (?:is |are |has been |have been |was |were )"
     rf"(?:all )?{DONE}\b(?: with (?:that|this|it))?", " ; then "),
    (rf"\b(?:and |but )?(?:only )?(?:once|when|after|as soon as) (?:you |having |the robot )?(?:has |have )?(?:done|"
     rf"finished|completed) (?:with )?{THAT}\b|\b(?:once|when) (?:done|finished|completed|ready)\b|\b(?:having done|that done|this done)\b"
     rf"(?: {THAT})?", " ; then "),
    (r"\b(?:and |but )?(?:only (?:then|after that|afterwards)|thereafter|thereupon|following that|following this|later on"
     r"|in turn|after it|in a second step|in the next step|and then finally)\b", " ; then "),
    (r"\b(?:and |but )?(?:before that|beforehand|prior to that|but first|before doing (?:that|so|this)|but before)\b,?",
     " ; earlier "),
    (r"\bfinish (?:off |up )?(?:by|with)\b|\b(?:end|conclude|round (?:it |things )?off|complete (?:it|this|the job)) "
     r"(?:by|with)\b|\bto (?:round (?:it|things) off|top it off|end with|conclude|finish(?: off| up)?)\b", " ; finally "),
    (r"\b(?:start|begin) (?:off )?(?:by|with)\b", " first "),
    (r"^\W*(?:please )?(?:(?:can|could|would) you )?(?:do |perform |carry out |execute )?(?:the following|these|this|my)?"
     r"\s*(?:steps?|things?|tasks?|to-?do(?: list)?|plan|jobs?|list)?\s*(?:,? ?in (?:this|the following|exactly this|that) "
     r"order|as follows)?(?: please)?\s*,\s*(?=;)", ""),
    # what is left alone
    (r"\b(?:keep |take )?(?:your |all )?(?:hands|fingers|paws|mitts) off(?: of)?\b|\bno touching(?: of)?\b|\bnever mind\b"
     r"|\bdo not (?:you )?(?:even |ever )?(?:lay a finger on|mess with|bother with|bother|handle|go near|dare touch|touch|"
     r"shift|budge|displace|grab|carry|relocate|alter|change)\b|\bwithout (?:disturbing|shifting|displacing|handling)\b",
     " do not touch "),
    (r",? ?\b(?:and |but )?(?:touch |move |do |take )?(?:nothing|none|no one|no other \w+) (?:else|more|besides)\b"
     r"(?: (?:should|must|may|is to|has to|needs to) (?:be )?(?:moved?|touched|change))?", " "),
    (r",? ?\b(?:and |but )?(?:leave|keep|let) (?:everything else|the rest|all (?:the )?(?:others?|else|the rest)|the others?|"
     r"the other (?:ones|things|objects|stuff|items)|all other \w+)(?: \w+){0,2}? ?(?:alone|as (?:it|they) (?:is|are)|where "
     r"(?:it|they) (?:is|are|stands?)|untouched|in place|be|there|in peace|out of it)\b", " "),
    # any of them will do
    (r"[,;]? ?\b(?:and |but )?(?:it |that )?(?:(?:really )?does not (?:really )?matter|i do not (?:really )?(?:mind|care)|"
     r"i am not fussed|no matter|never mind|you (?:can |may )?(?:choose|decide|pick|select)|your (?:choice|pick|call)|"
     r"(?:it is )?up to you|i leave (?:it|that) to you)(?: about)?(?: (?:which|what|where|how))?(?: (?:of them|ones?|two|"
     r"three|is which))?(?: (?:you )?(?:take|choose|pick|it is|they are))?(?=\s*(?:$|[;,.!]))", " "),
    (r"[,;]? ?\b(?:which|what)ever (?:ones? |of them )?(?:you (?:like|prefer|want|choose|fancy|think best|find first)|is "
     r"(?:the )?(?:easiest|easier|best|simplest|nearest|closest)|suits(?: you)?|works|will do|"
     r"is (?:the )?(?:less|least|more|most) \w+)(?: for you)?(?=\s*(?:$|[;,.!]))", " "),
    # sets
    (r"\b(?:the (?:whole )?lot|the whole bunch|all of it|every last (?:one|thing|bit)(?: of (?:it|them))?|anything and "
     r"everything|all (?:this|that|the) stuff|whatever there is|all there is|each and every thing)\b", "everything"),
    (r"\bwhat(?= is (?:standing|lying|sitting|on|in|inside|still|left)\b)|\b(?:what(?:so)?ever|(?:all|anything|any objects?|any"
     r"thing at all|everything) (?:that|which))(?= (?:is|are|stands?|lies?|sits?|rests?|belongs?|can|could|may|does|has)\b)",
     "everything that"),
    (r"\b(everything|anything|all|things|objects|stuff) (?=(?:you|one|i|we|people) (?:can|could|may|might) )", r"\1 that "),
    # extremes that follow their noun
    (r"\b(?:that is |which is |standing |lying |the one )?(?:clos(?:est|er)|near(?:est|er)) (?:to )?(?:the )?(?:very )?"
     r"(left|right|front|back|far|near)(?: hand)? (?:edge|side|end|border|rim)(?: of the (?:table|desk))?\b",
     r"extreme-\1"),
    (r"\b(?:that is |which is |standing |lying )?(?:clos(?:est|er)|near(?:est|er)) (?:to )?(?:me|us|you|myself|the (?:camera|"
     r"viewer|lens|robot|front|observer))\b(?! (?:edge|side|end))", "extreme-front"),
    (r"\b(?:that is |which is |standing |lying )?(?:(?:farthest|furthest)(?: away)?|most distant|farther(?: away)?|further"
     r"(?: away)?) from (?:me|us|you|myself|the (?:camera|viewer|lens|robot|front|observer))\b", "extreme-back"),
    (r"\b(?:that is |which is |standing |lying )?(?:further|farther|furthest|farthest|more|most) (?:to the |on the |towards "
     r"the )?(left|right|front|back)\b(?! (?:of|one)\b)", r"extreme-\1"),
    (r"\b(?:that is |which is )(?:further|farther|furthest|farthest) away\b", "extreme-back"),
    (r"\b(?:clos|near)er to (?=(?:the|my|a|it)\b)", "next to "),
    # relations
    (r"\bso (?:that )?(?:it|they) (?:has|have) (.+?) (?:on|to) (?:its|their) left\b", r"to the right of \1"),
    (r"\bso (?:that )?(?:it|they) (?:has|have) (.+?) (?:on|to) (?:its|their) right\b", r"to the left of \1"),
    (r"(?<= )and (the [\w ]+?) (?:on|to) (?:its|their) left\b", r"and to the right of \1"),
    (r"(?<= )and (the [\w ]+?) (?:on|to) (?:its|their) right\b", r"and to the left of \1"),
    (r"\b(?:in )?(?:the )?(?:gap|space|room|middle) between\b", "between"),
    (r"\bas (?:far|close) (?:over )?to the (left|right|front|back) as (?:you can|it goes|possible|it will go)\b",
     r"as far \1 as possible"),
    (r"\b(?:switch|swap|change|exchange|trade) (the )?(?:places|positions|spots|locations) (?:of|between)\b", "swap "),
    (r"\b(?:swap|switch|trade|change|exchange) (?:their )?(?:places|positions|spots|seats|sides) with\b",
     "trade places with"),
    (r"\b(?:without|with no) (?:a )?gaps?(?: between them| in between)?\b", " "),
)  # fmt: skip
"""Patterns of wordings, each with the wording of the same meaning that the lexicon knows; applied in this order."""

LAST = r"(?=\s*(?:$|[,;]|and\b|then\b))"
TOWER = re.compile(r"\b(?:tower|stack|pile|heap)(?:s|ed|ing)?\b|\bon top of (?:each other|one another)\b")
TOWER_RULES: Sequence[tuple[str, str]] = (
    (r"\b(?:goes |is |comes |being |as )?(?:the )?(?:lowest|lowermost|bottommost|undermost|underneath|down below|at the "
     rf"(?:very )?(?:bottom|base|foot)|(?:as |forming )(?:the |a )?(?:base|foundation|bottom)){LAST}", "at the bottom"),
    (r"\b(?:goes |is |comes |being |as )?(?:the )?(?:topmost|uppermost|up top|(?:at|on) (?:the )?(?:very )?top|(?:as |forming )"
     rf"(?:the |a )?(?:crown|top|summit|tip|roof)|crowning it|highest){LAST}", "on top"),
)  # fmt: skip
"""Wordings of the ends of a tower."""


def plain(text: str) -> str:
    """Return a text in lower case, in normal form; sentences end with ";"."""
    text = _without_code(text).lower().replace("’", "'").replace("`", "'").strip()
    text = BULLET.sub(" ; ", re.sub(r"\s*\n\s*", "\n", text))
    text = _with_steps(text)
    text = " ".join(re.sub(r"(?<![,;.!?:])\n(?! *;)", " , ", text).split())
    for pattern, full in CONTRACTIONS:
        text = re.sub(pattern, full, text)
    text = re.sub(r"'s\b", "", text) if "let's" not in text else text
    for pattern, sign in SIGNS:
        text = re.sub(pattern, sign, text)
    text = SENTENCE_END.sub(" ; ", f"{text} ")
    text = " ".join(text.split())
    for pattern, wording in RULES:
        text = re.sub(pattern, wording, text)
    if TOWER.search(text):
        for pattern, wording in TOWER_RULES:
            text = re.sub(pattern, wording, text)
    return " ".join(text.split())


def _without_code(text: str) -> str:
    """Return a text with the identifiers of program code as words: "move(redCube).toLeft()" as "move red Cube to Left".

    Names that contain "_" stay as they are, unless they stand in brackets.
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    if re.search(r"\w\(\w*\)", text):
        text = re.sub(r"[().;]+", " ", text)
    return text


def _with_steps(text: str) -> str:
    """Return a text whose numbered steps begin with "then"; a single number is left as it is."""
    if len(WORD_STEP.findall(text)) > 1:
        text = WORD_STEP.sub(lambda m: " ; " if m[1] in FIRST_WORDS else " ; then ", text)
    numbers = [next(filter(None, m.groups())) for m in STEP.finditer(text)]
    if len(numbers) < 2 or numbers[0] not in FIRST_STEPS:
        return text
    return STEP.sub(lambda m: " ; " if next(filter(None, m.groups())) in FIRST_STEPS else " ; then ", text)
