"""Rewards written as code, by a model or a person, in the small part of Python that cannot do anything but measure.

A source is one function `compute_reward(env)` as in Gen2Sim (section 3.2). It may assign names, choose with if, do
arithmetic on numbers and arrays, and call what `ENV` and `MATHS` list. There are no loops, attributes, imports,
functions or texts to compute with: what is not on these lists is refused before anything runs, so that a source ends,
reads nothing but `env`, and changes nothing.
"""

import ast
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.simulation.objects import KitError

MAX_CHARACTERS = 8000
MAX_NODES = 1500
MAX_POWER = 8
"""Largest exponent that a source may name."""
FUNCTION = "compute_reward"

ENV: Mapping[str, tuple[int, str]] = {
    "get_pose_by_link_name": (
        2,
        "(object, link): (W, 3), world, metres: the grasp point of a moving part, which moves with it, by the part's "
        'name; an affordance such as "handle", which moves with the object, by its name; by any other word, such as '
        '"base", the middle of the object',
    ),
    "get_start_pose_by_link_name": (2, "(object, link): the same where this subtask's episode began"),
    "get_state_by_joint_name": (2, "(object, part): (W,), the joint's position now, in metres or radians"),
    "get_limits_by_joint_name": (2, '(object, part): {"lower", "upper"}: its positions shut and fully open'),
    "get_robot_gripper_pose": (0, "(): (W, 3), the tip of the hand"),
    "get_size": (1, "(object): (W, 3), metres along its own x, y and z"),
    "get_axis": (2, '(object, "x", "y" or "z"): (W, 3), the direction of that own axis in the world'),
    "get_top": (1, "(object): (W,), height of its highest point in metres"),
    "get_bottom": (1, "(object): (W,), height of its lowest point in metres"),
    "is_held": (1, "(object): (W,), whether the hand holds it or a part of it"),
    "in_contact": (2, '(object, object or "table"): (W,), whether they touch'),
}
"""What `env` offers: the number of names that it takes, and what it returns; W is the number of worlds."""
MATHS: Mapping[str, Callable[..., Any]] = {
    "norm": lambda x, dim=-1, axis=None: np.linalg.norm(x, axis=dim if axis is None else axis),
    "sum": lambda x, dim=None, axis=None: np.sum(x, axis=dim if axis is None else axis),
    "mean": lambda x, dim=None, axis=None: np.mean(x, axis=dim if axis is None else axis),
    "clip": np.clip, "clamp": lambda x, min=None, max=None: np.clip(x, min, max),
    "where": np.where, "minimum": np.minimum, "maximum": np.maximum, "min": np.minimum, "max": np.maximum,
    "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "square": np.square, "tanh": np.tanh,
    "sin": np.sin, "cos": np.cos, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}  # fmt: skip
"""Functions of numbers and arrays, as `norm(...)`, `np.norm(...)`, `torch.norm(...)` or `np.linalg.norm(...)`."""
AXES = ("x", "y", "z")
MODULES = frozenset(("np", "numpy", "torch", "math"))
STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.Return, ast.Expr, ast.Pass)
EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Constant, ast.Tuple,
    ast.Name, ast.Subscript, ast.Slice, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
REFUSED_OPERATORS = (ast.LShift, ast.RShift, ast.MatMult, ast.In, ast.NotIn)


@dataclass(frozen=True, eq=False)
class RewardCode:
    """A source that was found harmless, ready to run."""

    objects: tuple[str, ...]
    """Names of the objects that it measures, each once."""
    joints: tuple[tuple[str, str], ...]
    """Names of the moving parts and affordances that it measures: (object, part)."""
    moving_parts: tuple[tuple[str, str], ...]
    """Those of them whose joints it measures, which affordances lack."""
    summary: str
    """The function's first line of documentation; "" without one."""
    run: Callable[[Any], np.ndarray]
    """Takes what has the functions of `ENV`; returns the reward (W,) of each world, or raises KitError."""


@functools.lru_cache(maxsize=256)
def compiled(source: str) -> RewardCode:
    """Return a source compiled. Raises KitError that names the line and what is not allowed."""
    try:
        return _compiled(source)
    except RecursionError:
        raise KitError("the reward's code is nested too deeply") from None


def _compiled(source: str) -> RewardCode:
    function = _parsed(source)
    placed = _placed(function)
    for node in ast.walk(function):
        if problem := _problem(node) or (_misplaced(node) if id(node) not in placed else ""):
            raise KitError(f"the reward's code, line {getattr(node, 'lineno', 1)}: {problem}")
    calls = list(_env_calls(function))
    places = [names for name, names in calls if name in ("get_pose_by_link_name", "get_start_pose_by_link_name")]
    moving = [(names[0], names[1]) for name, names in calls if "joint" in name]
    joints = moving + [(a, link) for a, link in places if link not in ("", a, "base")]
    objects = [name for _, names in calls for name in names[:1]]
    objects += [names[1] for name, names in calls if name == "in_contact" and names[1] != "table"]
    summary = (ast.get_docstring(function) or "").strip().partition("\n")[0]
    return RewardCode(
        tuple(dict.fromkeys(objects)),
        tuple(dict.fromkeys(joints)),
        tuple(dict.fromkeys(moving)),
        summary,
        _runnable(function),
    )


def manual() -> str:
    """Return what a source may use, for people and models."""
    lines = [f"    env.{name}{what}" for name, (_, what) in ENV.items()]
    written = f'{{"term": "code", "source": "def {FUNCTION}(env): ... return reward", "weight": w}}'
    return "\n".join(
        [
            f"code: written as {written}. A larger reward is better; its rise since the start of the episode is paid, "
            "half of all for the first 0.1, so let each stage add 0.2 to 2, later ones more. It may assign names, use "
            f"arithmetic, comparisons, slices such as tip[:, :2], and {', '.join(MATHS)} of arrays; where chooses for "
            "each world; no loops and imports. Names of objects and parts are written out. It "
            "measures:",
            *lines,
        ]
    )


def _parsed(source: str) -> ast.FunctionDef:
    if len(source) > MAX_CHARACTERS:
        raise KitError(f"the reward's code has more than {MAX_CHARACTERS} characters")
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"{getattr(error, 'msg', error)}"
        raise KitError(f"the reward's code, line {getattr(error, 'lineno', 1)}: cannot be read: {message}") from None
    if len(body) != 1 or not isinstance(function := body[0], ast.FunctionDef) or function.name != FUNCTION:
        raise KitError(f"the reward's code is one function: def {FUNCTION}(env): ... return reward")
    args = function.args
    plain = not (args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults)
    if [arg.arg for arg in args.args] != ["env"] or not plain or function.decorator_list:
        raise KitError(f"the reward's code takes env and nothing else: def {FUNCTION}(env)")
    function.returns = args.args[0].annotation = None
    if sum(1 for _ in ast.walk(function)) > MAX_NODES:
        raise KitError("the reward's code is too long; measure less")
    return function


def _problem(node: ast.AST) -> str:
    """Return why a node is not allowed; empty if it is."""
    match node:
        case ast.FunctionDef(name=name):
            return "" if name == FUNCTION else "defines a function"
        case ast.arguments() | ast.arg():
            return ""
        case ast.Attribute() if _function_of(node) is None:
            return f"uses .{node.attr}, which there is not; there are env.{', env.'.join(ENV)} and {', '.join(MATHS)}"
        case ast.Attribute():
            return ""
        case ast.Call():
            return _call_problem(node)
        case ast.Assign(targets=targets):
            return "" if all(map(_is_name, targets)) else "assigns to something other than a name"
        case ast.AugAssign(target=target):
            return "" if _is_name(target) else "assigns to something other than a name"
        case ast.Name(id=name, ctx=ast.Store()) if name in MATHS or name in MODULES or name == "env":
            return f"assigns another value to {name}"
        case ast.Name(id=name) if name.startswith("_"):
            return f"uses the name {name}"
        case ast.Expr(value=ast.Constant(value=str())):
            return ""
        case ast.Constant(value=value) if not isinstance(value, (int, float, str)):
            return f"contains {value!r}"
        case ast.Constant(value=float() | int() as value) if not abs(value) < 1e9:
            return f"contains the number {str(value)[:20]}"
        case ast.BinOp(op=ast.Pow(), right=right) if not _is_small(right):
            return f"raises to a power other than a number up to {MAX_POWER}"
        case ast.stmt() if not isinstance(node, STATEMENTS):
            return f"contains a statement that is not allowed: {type(node).__name__.lower()}"
        case _ if isinstance(node, REFUSED_OPERATORS) or not isinstance(node, (*STATEMENTS, *EXPRESSIONS)):
            return f"contains what is not allowed: {type(node).__name__.lower()}"
    return ""


def _call_problem(node: ast.Call) -> str:
    function = _function_of(node.func)
    if function is None:
        return f"calls {ast.unparse(node.func)}, which there is not"
    if function in MATHS:
        allowed = {"dim", "axis", "min", "max"}
        wrong = [word.arg for word in node.keywords if word.arg not in allowed]
        return f"passes {wrong[0]} to {function}" if wrong else ""
    count, what = ENV[function]
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if node.keywords or len(node.args) != count or len(texts) != count:
        return f"calls env.{function} without {count} names written out: {what}"
    if function == "get_axis" and texts[1] not in AXES:
        return f"names the axis {texts[1][:20]!r}: {what}"
    return ""


def _function_of(node: ast.AST) -> str | None:
    """Return the name of the allowed function that an expression names; None if it names none."""
    match node:
        case ast.Name(id=name) if name in MATHS:
            return name
        case ast.Attribute(value=ast.Name(id="env"), attr=name) if name in ENV:
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES - {"linalg"}:
            return name if name in MATHS or name == "linalg" else None
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=module), attr="linalg"), attr=name) if (
            module in MODULES
        ):
            return name if name in MATHS else None
    return None


def _is_name(target: ast.AST) -> bool:
    return isinstance(target, ast.Name)


def _is_small(node: ast.AST) -> bool:
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) and value.value <= MAX_POWER


def _env_calls(function: ast.FunctionDef) -> Iterator[tuple[str, list[str]]]:
    """Yield each function of `env` that is called, with the names that it gets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and (name := _function_of(node.func)) and name in ENV:
            yield name, [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]


def _placed(function: ast.FunctionDef) -> set[int]:
    """Return the ids of nodes that stand where such nodes may: names in calls of `env`, places, called functions.

    Elsewhere a text could be multiplied, a whole number raised without end, and a tuple doubled.
    """
    placed: set[int] = set()
    for node in ast.walk(function):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                placed.add(id(text))
            case ast.Call(func=called, args=args) if _function_of(called) is not None:
                placed.update(map(id, ast.walk(called)))
                if _function_of(called) in ENV:
                    placed.update(map(id, args))
            case ast.Subscript(slice=place) if all(map(_is_place, ast.walk(place))):
                placed.update(map(id, (place, *ast.walk(place))))
    return placed


def _is_place(node: ast.AST) -> bool:
    """Whether a node may stand in brackets: numbers, ranges of them, "lower" and "upper", one for each axis."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) or node.value in ("lower", "upper")
    return isinstance(node, (ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load))


def _misplaced(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return f"contains the text {text[:30]!r}, which measures nothing"
        case ast.Subscript(slice=place) if not all(map(_is_place, ast.walk(place))):
            return "takes a place that is not written as numbers"
        case ast.Attribute() | ast.Name(id="env"):
            return "names a function without calling it"
    return ""


class _ToPlain(ast.NodeTransformer):
    """Numbers become floats, tuples arrays, functions of modules names: nothing grows or is looked up as it runs."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.Tuple):  # reward and success, as Gen2Sim returns them
            node.value.elts = [self.visit(one) for one in node.value.elts]
            return node
        return self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("_array", ast.Load()), [node], []), node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg in ("dim", "axis") else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_number = isinstance(node.value, int) and not isinstance(node.value, bool)
        return ast.copy_location(ast.Constant(float(node.value)), node) if is_number else node  # type: ignore[arg-type]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        function = _function_of(node)
        return node if function in ENV else ast.copy_location(ast.Name(function or "", ast.Load()), node)


def _runnable(function: ast.FunctionDef) -> Callable[[Any], np.ndarray]:
    plain = ast.fix_missing_locations(_ToPlain().visit(function))
    names: dict[str, Any] = {"__builtins__": {}, "_array": np.array, **MATHS}
    exec(compile(ast.Module([plain], []), "reward", "exec"), names)

    def run(env: Any) -> np.ndarray:
        try:
            with np.errstate(all="ignore"):
                answer = names[FUNCTION](env)
            # Gen2Sim's functions return a success beside the reward; ours is measured by goals
            value = np.atleast_1d(np.asarray(answer[0] if isinstance(answer, tuple) else answer, float))
        except KitError:
            raise
        except Exception as error:
            raise KitError(f"the reward's code fails: {type(error).__name__}: {str(error)[:200]}") from None
        if value.ndim != 1 or not np.isfinite(value).all():
            raise KitError("the reward's code returned no finite number for each world")
        return value

    return run
