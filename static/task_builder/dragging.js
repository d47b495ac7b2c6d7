// What is dragged in the task builder, and where it may be dropped.
let dragged = null;

/** Returns attributes of an element that can be dragged. */
export const source = (what) => ({
  draggable: true,
  ondragstart: (event) => {
    dragged = what;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    event.stopPropagation();
  },
  ondragend: () => {
    dragged = null;
  },
});

/** Returns attributes of an element on which `onDrop` gets what `accepts` what is dragged. */
export const target = (accepts, onDrop) => ({
  ondragover: (event) => {
    if (!dragged || !accepts(dragged)) return;
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.classList.add("over");
  },
  ondragleave: ({ currentTarget }) => currentTarget.classList.remove("over"),
  ondrop: (event) => {
    event.currentTarget.classList.remove("over");
    if (!dragged || !accepts(dragged)) return;
    event.preventDefault();
    event.stopPropagation();
    const what = dragged;
    dragged = null;
    onDrop(what);
  },
});
