// Goals as rows: a row is a form with its holes filled, {key, form, stage, names, place}. `names` are lists by the
// index of the hole; a row with several first names stands for a goal each. Rows are never changed, they are replaced.
let rowsMade = 0;

export const isMany = (hole) => hole.type === "list" || hole.type === "objects";
export const takesObjects = (hole) => isMany(hole) || hole.type === "object";
const byIndex = (form) => form.holes.filter((hole) => hole.index >= 0).sort((a, b) => a.index - b.index);
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const middle = (points) => [0, 1].map((axis) => sum(points.map((point) => point[axis])) / points.length);

/** Returns a row of a form in which nothing but a zone, a container and a place are chosen. */
export function newRow(form, stage, { zones, containers, table }) {
  const first = { zone: [zones[0].name], container: [containers[0].name] };
  const names = Object.fromEntries(byIndex(form).map(({ index, type }) => [index, first[type] ?? []]));
  return { key: ++rowsMade, form, stage, names, place: form.holes.some(isPlace) ? middle(table) : null };
}

const isPlace = (hole) => hole.type === "place";

export const isComplete = ({ form, names }) =>
  byIndex(form).every((hole) => names[hole.index].length >= (hole.type === "list" ? 2 : 1));

/** Returns the hole that the next object fills; a list takes more and more of them. */
export const nextHole = ({ form, names }) =>
  byIndex(form).find((hole) => takesObjects(hole) && (hole.type === "list" || !names[hole.index].length)) ?? null;

/** Returns a row with one more name in a hole, or with another one where it takes only one. */
export function withName(row, hole, name, objects) {
  const known = row.names[hole.index];
  const names = { ...row.names, [hole.index]: isMany(hole) ? [...known.filter((one) => one !== name), name] : [name] };
  const part = row.form.holes.find((one) => one.type === "part" && one.index === hole.index + 1);
  const parts = objects.find((one) => one.name === name)?.parts ?? [];
  if (part && !parts.some((one) => names[part.index].includes(one.name)))
    names[part.index] = parts.length === 1 ? [parts[0].name] : [];
  return { ...row, names };
}

export const withNames = (row, hole, names) => ({ ...row, names: { ...row.names, [hole.index]: names } });

// Rows to goals and back

/** Returns the goals of complete rows, one list a stage, as task.json has them. */
export function toGoals(rows, axes) {
  const complete = inStages(rows.filter(isComplete)),
    stages = [...new Set(complete.map((row) => row.stage))];
  return stages.map((stage) => complete.filter((row) => row.stage === stage).flatMap((row) => goalsOf(row, axes)));
}

function goalsOf({ form, names, place }, axes) {
  const more = { along: form.along || undefined, new_container: form.new_container || undefined };
  if (form.holes[0].type === "list") return [{ goal: form.goal, names: names[0], ...more }];
  const rest = byIndex(form)
    .slice(1)
    .map((hole) => names[hole.index][0]);
  const xy = place ? [0, 1].map((i) => place[0] * axes[0][i] + place[1] * axes[1][i]) : undefined;
  return names[0].map((name) => ({ goal: form.goal, names: [name, ...rest], ...more, xy }));
}

/** Returns the rows of goals; null if one has no form here. */
export function toRows(stages, { forms, axes }) {
  const rows = [];
  for (const [stage, goals] of stages.entries())
    for (const goal of goals) {
      const form = forms.find(
        (one) =>
          one.goal === goal.goal &&
          one.along === (goal.along ?? "") &&
          one.new_container === Boolean(goal.new_container),
      );
      if (!form) return null;
      const row = rowOf(goal, form, stage, axes);
      const last = rows.at(-1);
      if (last && isAlike(last, row))
        rows[rows.length - 1] = withNames(last, form.holes.find(isMany), [...last.names[0], ...row.names[0]]);
      else rows.push(row);
    }
  return rows;
}

function rowOf({ names, xy }, form, stage, axes) {
  const isList = form.holes[0].type === "list";
  const filled = isList ? { 0: names } : Object.fromEntries(names.map((name, index) => [index, [name]]));
  const place = xy ? axes.map((axis) => xy[0] * axis[0] + xy[1] * axis[1]) : null;
  return { key: ++rowsMade, form, stage, names: filled, place };
}

const isAlike = (one, other) =>
  one.form === other.form &&
  one.stage === other.stage &&
  one.form.holes.some((hole) => hole.type === "objects") &&
  byIndex(one.form).every(({ index }) => !index || one.names[index][0] === other.names[index][0]);

// Order

/** Returns rows by stage, with stages counted from 0 without a gap. */
export function inStages(rows) {
  const stages = [...new Set(rows.map((row) => row.stage))].sort((a, b) => a - b);
  const counted = rows.map((row) => ({ ...row, stage: stages.indexOf(row.stage) }));
  return counted.sort((a, b) => a.stage - b.stage);
}

/** Returns rows with one moved by one place; beyond the end of its step it goes to the next step, or to a new one. */
export function shifted(rows, key, step) {
  const at = rows.findIndex((row) => row.key === key),
    row = rows[at],
    other = rows[at + step],
    next = [...rows];
  if (other?.stage === row.stage) [next[at], next[at + step]] = [other, row];
  else if (other || rows.some((one) => one !== row && one.stage === row.stage))
    next[at] = { ...row, stage: other ? other.stage : row.stage + step };
  return inStages(next);
}

/** Returns rows with one put into a stage, before another row or last. */
export function placed(rows, key, stage, before = null) {
  const row = { ...rows.find((one) => one.key === key), stage },
    others = rows.filter((one) => one.key !== key),
    at = others.findIndex((one) => one.key === before);
  others.splice(at < 0 ? others.length : at, 0, row);
  return inStages(others);
}

/** Returns a list with one name moved before another, or last. */
export function reordered(names, name, before) {
  const others = names.filter((one) => one !== name),
    at = others.indexOf(before);
  others.splice(at < 0 ? others.length : at, 0, name);
  return others;
}
